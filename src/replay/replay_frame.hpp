// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What every replay has, and how it is measured.
#include <tier/replay/replay.hpp>
#include <tier/trace/summary.hpp>
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <vector>

#include "replay/costs.hpp"
#include "replay/recorded.hpp"
#include "replay/whole.hpp"

namespace tier::replay {

/// What kernels did; what is counted is the difference of two of these.
struct KernelCounts {
  Demand demand;
  double inputs = 0, inputs_fast = 0, outputs = 0, outputs_fast = 0;  // in proportion to bytes
};

/// A trace and a machine's tiers, and the passes over it, of which all but the first are counted, or the only one.
class ReplayFrame {
 protected:
  /// \throws  `ConfigError` where there is no pass, the machine makes no sense or lacks a tier, or more is alive than is replayed
  ReplayFrame(const trace::Trace& trace, const Machine& machine, const std::vector<SimulatedTier>& tiers,
              unsigned passes);

  /// \param counts  returns what has been counted so far   \param play  goes over the trace once
  /// \return        the counts before the first pass that is counted
  auto play_passes(auto&& counts, auto&& play) {
    auto from = counts();
    for (unsigned pass = 0; pass < passes_; ++pass) {
      in_pass_ = 0;
      if (pass == 1) from = counts();
      play();
    }
    return from;
  }
  void add(const Demand& demand, KernelCounts& counts) const noexcept;

  /// A mean of the iterations that are counted.
  [[nodiscard]] double mean(auto after, auto before) const {
    return (static_cast<double>(after) - static_cast<double>(before)) / iterations_;
  }
  [[nodiscard]] std::uint64_t whole_mean(auto after, auto before) const { return whole(mean(after, before)); }
  /// What follows from the trace, and from what its kernels did.
  [[nodiscard]] Result result(const KernelCounts& from, const KernelCounts& to) const;

  /// \param ns  since the beginning   \throws  `ConfigError` where that is later than a replay can tell
  static void check_time(double ns);

  /// Of live bytes, in the trace itself.
  [[nodiscard]] Bytes peak() const noexcept { return summary_.peak; }
  /// So much of the peak need not move to be used.
  void exclude_from_bound(Bytes bytes) noexcept { moves_in_parts_ = bytes; }

  const trace::Trace& trace_;
  std::vector<SimulatedTier> tiers_;  // the fastest first
  std::vector<const Device*> devices_;
  Costs costs_;
  Recorded recorded_;
  std::uint32_t in_pass_ = 0;  // the kernel, of those of the trace

 private:
  unsigned passes_;
  trace::Summary summary_;
  Bytes moves_in_parts_{};
  double steps_;       // of the trace
  double iterations_;  // that are counted
};

}  // namespace tier::replay
