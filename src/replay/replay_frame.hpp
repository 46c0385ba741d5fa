// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The common part of all replays: the passes, and how they are measured.
#include <tier/replay/replay.hpp>
#include <tier/trace/summary.hpp>
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <vector>

#include "replay/costs.hpp"
#include "replay/recorded.hpp"
#include "replay/whole.hpp"

namespace tier::replay {

/// Counts of kernels so far; a result is the difference of two of these.
struct KernelCounts {
  Demand demand;
  double inputs = 0, inputs_fast = 0, outputs = 0, outputs_fast = 0;  // in proportion to bytes
};

/// Holds a trace and a machine's tiers, and makes passes over the trace. All but the first count, or the only one.
class ReplayFrame {
 protected:
  /// \throws  `ConfigError` if there is no pass, the machine makes no sense or lacks a tier, or too much is alive at once
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

  /// Returns the mean over the counted iterations.
  [[nodiscard]] double mean(auto after, auto before) const {
    return (static_cast<double>(after) - static_cast<double>(before)) / iterations_;
  }
  [[nodiscard]] std::uint64_t whole_mean(auto after, auto before) const { return whole(mean(after, before)); }
  /// Returns the part of the result that follows from the trace and from its kernels.
  [[nodiscard]] Result result(const KernelCounts& from, const KernelCounts& to) const;

  /// \param ns  since the beginning   \throws  `ConfigError` if that is later than a replay can tell
  static void check_time(double ns);

  /// Returns the most live bytes, in the trace itself.
  [[nodiscard]] Bytes peak() const noexcept { return summary_.peak; }
  /// Excludes bytes of the peak that need not move to be used from the lower bound.
  void exclude_from_bound(Bytes bytes) noexcept { moves_in_parts_ = bytes; }

  const trace::Trace& trace_;
  std::vector<SimulatedTier> tiers_;  // the fastest first
  std::vector<const Device*> devices_;
  Costs costs_;
  Recorded recorded_;
  std::uint32_t in_pass_ = 0;  // index of the kernel within the trace

 private:
  unsigned passes_;
  trace::Summary summary_;
  Bytes moves_in_parts_{};
  double steps_;       // iterations of the trace
  double iterations_;  // iterations that are counted
};

}  // namespace tier::replay
