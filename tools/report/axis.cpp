// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "axis.hpp"

#include <algorithm>
#include <limits>

namespace tier::tool::report {

Time saturating_sum(Time a, Time b) noexcept {
  Time sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<Time>::max() : std::numeric_limits<Time>::min();
}

Time Axis::start_of(std::size_t bin) const noexcept {
  Time offset = 0;
  if (__builtin_mul_overflow(static_cast<Time>(bin), width, &offset)) return std::numeric_limits<Time>::max();
  return saturating_sum(begin, offset);
}

std::size_t Axis::bin_of(Time time) const noexcept {
  if (time <= begin) return 0;
  return std::min(bins - 1, static_cast<std::size_t>((time - begin) / width));
}

Axis make_axis(bool timed, Time begin, Time end, std::size_t most_bins) {
  begin = std::max<Time>(begin, 0);
  end = std::max(begin, end);
  Axis axis{.timed = timed, .begin = begin, .width = 1, .bins = 1, .first = begin, .last = end};
  for (int step = 0;; ++step) {
    axis.begin = begin - begin % axis.width;
    const auto spanned = end - axis.begin;
    const auto bins = static_cast<std::size_t>(spanned / axis.width + (spanned % axis.width != 0 ? 1 : 0));
    axis.bins = std::max<std::size_t>(1, bins);
    if (axis.bins <= most_bins) return axis;
    axis.width = step % 3 == 1 ? axis.width / 2 * 5 : axis.width * 2;  // 1, 2, 5, 10
  }
}

}  // namespace tier::tool::report
