// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The same runs at several sizes of fast memory: what to run, as a table, and as a plot.
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "report.hpp"

namespace dlrm {

/// A run, and the fast memory that it is for.
struct PlannedRun {
  std::string name;
  std::string fast;  ///< a size, or a share of the tables
};

/// `plain`, and every other way to have the tables at 5, 10, 20, 50 and 100 % fast memory.
[[nodiscard]] std::vector<PlannedRun> plan_sweep();

/// Samples per second, a line for each size and a column for each run.   \param runs  of a sweep, or some of them
[[nodiscard]] std::string to_sweep_table(std::span<const RunResult> runs);

/// Writes `name`.gnuplot and has gnuplot draw from it `name`.svg and `name`.png.
/// \return  false, said on stderr, if there is no gnuplot
/// \throws  `tier::TierError` if the file cannot be written or gnuplot fails.
bool plot_sweep(std::span<const RunResult> runs, const std::filesystem::path& name);

}  // namespace dlrm
