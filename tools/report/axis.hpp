// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The axis that all charts of a report share, cut into bins of equal width.
#include <cstddef>
#include <cstdint>

namespace tier::tool::report {

/// A time in ns since the start of the recording; if a trace has no times, the number of a kernel.
using Time = std::int64_t;

/// Returns `a + b`, or the nearest `Time`.
[[nodiscard]] Time saturating_sum(Time a, Time b) noexcept;

struct Axis {
  bool timed = false;  ///< in ns; otherwise in kernels
  Time begin = 0;
  Time width = 1;  ///< of a bin
  std::size_t bins = 1;
  Time first = 0, last = 0;  ///< of the events; the axis may begin earlier and end later

  [[nodiscard]] Time start_of(std::size_t bin) const noexcept;
  [[nodiscard]] Time end() const noexcept { return start_of(bins); }
  /// Returns the bin of a time; the nearest bin for times off the axis.
  [[nodiscard]] std::size_t bin_of(Time time) const noexcept;
};

/// Makes an axis from `begin` to at least `end`, with at most `most_bins` bins. Their width is 1, 2 or 5 times a power of
/// ten, and they begin at multiples of it.
/// \pre  `most_bins >= 2`, so that a width for all of time is a `Time`
[[nodiscard]] Axis make_axis(bool timed, Time begin, Time end, std::size_t most_bins);

}  // namespace tier::tool::report
