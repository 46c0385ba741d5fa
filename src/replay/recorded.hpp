// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The times that a recording has measured for its kernels.
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace tier::replay {

/// Keeps the measured times of a trace's kernels, in ns; none if the trace was not recorded. A replay runs one kernel
/// after the other. If several were open at once, in nested scopes or on several threads, each instant counts for the one
/// that began last, so that together they take the time that passed.
class Recorded {
 public:
  explicit Recorded(const trace::Trace& trace);

  /// Returns the kernel's time if all of its operands were in the fastest tier.
  [[nodiscard]] std::optional<double> measured(std::uint32_t kernel) const noexcept {
    if (kernel >= taken_.size() || taken_[kernel] < 0) return std::nullopt;
    return taken_[kernel];
  }
  /// Returns the time after the kernel in which none was open, without stalls: the program's work between kernels.
  [[nodiscard]] double gap(std::uint32_t kernel) const noexcept {
    return kernel < gaps_.size() ? gaps_[kernel] : 0;
  }

 private:
  std::vector<double> taken_;  // negative: none
  std::vector<double> gaps_;
};

}  // namespace tier::replay
