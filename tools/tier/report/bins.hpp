// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Amounts over time, added up in the bins of an axis.
#include <vector>

#include "axis.hpp"

namespace tier::tool::report {

/// Amounts that are spread evenly over stretches of time. A level that lasts is one too: its height times its time.
/// \complexity  An amount takes the same time however many bins it covers.
class SpreadBins {
 public:
  explicit SpreadBins(const Axis& axis) : axis_{axis}, sums_(axis.bins), steps_(axis.bins + 1) {}

  /// What is outside the axis counts in its first or last bin. `end` is not before `start`.
  void add(Time start, Time end, double amount);
  /// Adds `level` times the length of the stretch.
  void add_level(Time start, Time end, double level);
  /// For each bin what was added, by its width: the mean level, or the rate.
  [[nodiscard]] std::vector<double> per_width() const;

 private:
  Axis axis_;
  std::vector<double> sums_;   // of bins that are covered in part
  std::vector<double> steps_;  // of the sums of bins that are covered whole, from bin to bin
};

/// The highest that a level is in each bin. Levels of no duration are not seen.
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
