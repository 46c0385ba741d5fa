// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Amounts over time, added up in the bins of an axis.
#include <vector>

#include "axis.hpp"

namespace tier::tool::report {

/// Sums amounts that are spread evenly over stretches of time. A lasting level is one, too: its height times its time.
/// \complexity  An amount takes the same time however many bins it covers.
class SpreadBins {
 public:
  explicit SpreadBins(const Axis& axis) : axis_{axis}, sums_(axis.bins), steps_(axis.bins + 1) {}

  /// Adds an amount. What lies off the axis counts in the first or last bin.   \pre  `end` is not before `start`
  void add(Time start, Time end, double amount);
  /// Adds `level` times the length of the stretch.
  void add_level(Time start, Time end, double level);
  /// Returns each bin's sum divided by the width: the mean level, or the rate.
  [[nodiscard]] std::vector<double> per_width() const;

 private:
  Axis axis_;
  std::vector<double> sums_;   // of partly covered bins
  std::vector<double> steps_;  // differences from bin to bin of the sums of fully covered bins
};

/// Keeps the highest level in each bin. Levels that last no time are ignored.
class HighestBins {
 public:
  explicit HighestBins(const Axis& axis) : axis_{axis}, highest_(axis.bins) {}

  void add_level(Time start, Time end, double level);
  [[nodiscard]] const std::vector<double>& highest() const noexcept { return highest_; }

 private:
  Axis axis_;
  std::vector<double> highest_;
};

}  // namespace tier::tool::report
