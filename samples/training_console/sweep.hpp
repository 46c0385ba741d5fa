// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The same runs at several sizes of fast memory: the list of runs, a table and a plot.
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "trainer/train.hpp"

namespace training {

/// A run, and its fast memory.
struct PlannedRun {
  std::string name;
  std::string fast;  ///< a size, or a share of the peak
};

/// Returns `plain`, `all_slow`, and `async`, `sync` and `first_touch` from 100 % fast memory downwards. AutoTM's 1:1, 4:1
/// and 8:1 of slow and fast memory are 50, 20 and 11 %; with nothing fast, all of them are `all_slow`.
[[nodiscard]] std::vector<PlannedRun> plan_sweep();

/// Formats time per iteration, and its ratios to `plain`, to `first_touch` with equal fast memory, and to `all_slow`: a
/// line per run.   \param runs  of a sweep, or some
[[nodiscard]] std::string to_sweep_table(std::span<const RunResult> runs);
/// Formats a line with the least fast memory, of the sizes run, from which `async` takes at most 5 % longer than `plain`;
/// empty if either is missing.   \param peak  in bytes
[[nodiscard]] std::string to_need(std::span<const RunResult> runs, std::size_t peak);

/// Draws, as `tier::tool::draw`, the slow-down over the actual fast memory.
bool plot_sweep(std::span<const RunResult> runs, std::size_t peak, const std::filesystem::path& name);

}  // namespace training
