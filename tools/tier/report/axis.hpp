// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The axis that all charts of a report share, cut into bins of equal width.
#include <cstddef>
#include <cstdint>

namespace tier::tool::report {

/// ns since the start of the recording; where a trace has no times, the number of a kernel.
using Time = std::int64_t;

/// `a + b`, or the nearest that there is.
[[nodiscard]] Time saturating_sum(Time a, Time b) noexcept;

struct Axis {
  bool timed = false;  ///< in ns, else in kernels
  Time begin = 0;
  Time width = 1;  ///< of a bin
  std::size_t bins = 1;
  Time first = 0, last = 0;  ///< of what the axis was made for; it may begin before and end after

  [[nodiscard]] Time start_of(std::size_t bin) const noexcept;
  [[nodiscard]] Time end() const noexcept { return start_of(bins); }
  /// Of what is outside, the nearest.
  [[nodiscard]] std::size_t bin_of(Time time) const noexcept;
};

/// An axis from `begin` to `end` or a little beyond, of at most so many bins, whose width is 1, 2 or 5 times a power of
/// ten and which begin at multiples of it.
/// \pre  `most_bins >= 2`, so that a width for all of time is a `Time`.
[[nodiscard]] Axis make_axis(bool timed, Time begin, Time end, std::size_t most_bins);

}  // namespace tier::tool::report
