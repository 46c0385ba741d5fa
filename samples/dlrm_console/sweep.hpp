// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The same runs at several sizes of fast memory: the list of runs, a table and a plot.
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "dlrm_model/results.hpp"

namespace dlrm {

/// A run, and its fast memory.
struct PlannedRun {
  std::string name;
  std::string fast;  ///< a size, or a share of the tables
};

/// Returns `plain`, and every other run at 5, 10, 20, 50 and 100 % fast memory.
[[nodiscard]] std::vector<PlannedRun> plan_sweep();

/// Formats samples per second, a line per size and a column per run.   \param runs  of a sweep, or some of them
[[nodiscard]] std::string to_sweep_table(std::span<const RunResult> runs);

/// Writes `name`.gnuplot and has gnuplot draw `name`.svg and `name`.png from it.
/// \return  false, after a message on stderr, if there is no gnuplot
/// \throws  `tier::TierError` if the file cannot be written or gnuplot fails
bool plot_sweep(std::span<const RunResult> runs, const std::filesystem::path& name);

}  // namespace dlrm
