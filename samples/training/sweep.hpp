// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The same runs at several sizes of fast memory: what to run, as a table, and as a plot.
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "run/train.hpp"

namespace training {

/// A run, and the fast memory that it is for.
struct PlannedRun {
  std::string name;
  std::string fast;  ///< a size, or a share of the peak
};

/// `plain`, `all_slow`, and `async`, `sync` and `first_touch` at 100 % fast memory down to none. AutoTM's 1:1, 4:1 and 8:1 of
/// slow and fast memory are 50, 20 and 11 %; where nothing is fast, all of them are `all_slow`.
[[nodiscard]] std::vector<PlannedRun> plan_sweep();

/// Time per iteration, and as a ratio to `plain`, to `first_touch` with as much fast memory, and to `all_slow`: a line for
/// each run.   \param runs  of a sweep, or some
[[nodiscard]] std::string to_sweep_table(std::span<const RunResult> runs);
/// A line: from how much fast memory on `async` takes at most 5 % longer than `plain`, of the sizes that were run, as
/// they were raised; empty if either is missing.   \param peak  in bytes
[[nodiscard]] std::string to_need(std::span<const RunResult> runs, std::size_t peak);

/// As `tier::tool::draw`, the slow-down over the fast memory that there was.
bool plot_sweep(std::span<const RunResult> runs, std::size_t peak, const std::filesystem::path& name);

}  // namespace training
