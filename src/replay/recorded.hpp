// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a recording has measured of its kernels.
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace tier::replay {

/// Times, in ns, of the kernels of a trace. Of one that was not recorded there are none. A replay runs one kernel after the
/// other: of those that were open at once, scopes within scopes or of several threads, each instant is the last one's to have
/// begun, so that all of them take what passed.
class Recorded {
 public:
  explicit Recorded(const trace::Trace& trace);

  /// What the kernel took, if all of its operands were in the fastest tier.
  [[nodiscard]] std::optional<double> measured(std::uint32_t kernel) const noexcept {
    if (kernel >= taken_.size() || taken_[kernel] < 0) return std::nullopt;
    return taken_[kernel];
  }
  /// In which no kernel was open, between it and the next one to begin, but for stalls: what the program does beside.
  [[nodiscard]] double gap(std::uint32_t kernel) const noexcept {
    return kernel < gaps_.size() ? gaps_[kernel] : 0;
  }

 private:
  std::vector<double> taken_;  // negative: none
  std::vector<double> gaps_;
};

}  // namespace tier::replay
