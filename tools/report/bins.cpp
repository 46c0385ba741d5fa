// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bins.hpp"

#include <algorithm>

namespace tier::tool::report {

void SpreadBins::add(Time start, Time end, double amount) {
  start = std::clamp(start, axis_.begin, axis_.end());
  end = std::clamp(end, start, axis_.end());
  const auto first = axis_.bin_of(start);
  const auto last = end > start ? axis_.bin_of(end - 1) : first;
  if (first == last) {
    sums_[first] += amount;
    return;
  }
  const auto rate = amount / static_cast<double>(end - start);
  sums_[first] += rate * static_cast<double>(axis_.start_of(first + 1) - start);
  sums_[last] += rate * static_cast<double>(end - axis_.start_of(last));
  const auto whole = rate * static_cast<double>(axis_.width);
  steps_[first + 1] += whole;
  steps_[last] -= whole;
}

void SpreadBins::add_level(Time start, Time end, double level) {
  start = std::clamp(start, axis_.begin, axis_.end());
  end = std::clamp(end, start, axis_.end());
  if (end > start) add(start, end, level * static_cast<double>(end - start));
}

std::vector<double> SpreadBins::per_width() const {
  std::vector<double> all(sums_.size());
  double whole = 0;
  for (std::size_t bin = 0; bin < all.size(); ++bin) {
    whole += steps_[bin];
    all[bin] = std::max(0.0, (sums_[bin] + whole) / static_cast<double>(axis_.width));
  }
  return all;
}

void HighestBins::add_level(Time start, Time end, double level) {
  start = std::clamp(start, axis_.begin, axis_.end());
  end = std::clamp(end, start, axis_.end());
  if (end == start) return;
  for (auto bin = axis_.bin_of(start); bin <= axis_.bin_of(end - 1); ++bin)
    highest_[bin] = std::max(highest_[bin], level);
}

}  // namespace tier::tool::report
