// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The program's runs, by name.
#include <tier/core/bytes.hpp>
#include <tier/memory/tiers.hpp>

#include <atomic>
#include <memory>
#include <string>

#include "terminal/terminal_line.hpp"
#include "trainer/train.hpp"
#include "training_console/options.hpp"
#include "training_console/sweep.hpp"

namespace training {

/// The common settings of all runs of one call.
struct Experiment {
  Options options;
  std::unique_ptr<Data> data;
  Steps steps;
  std::size_t peak = 0;  ///< bytes of the largest step
  TrainOptions train;    ///< without the prefetch budget, which follows from the fast memory
};

/// \throws  `tier::ConfigError` if options or data do not make an experiment; `tier::TierError`
[[nodiscard]] Experiment make_experiment(const Options& options);

/// Makes the step that `--record-only` writes, for the longest sequences if these vary. Without data, images have the size
/// and classes as published. Nothing is allocated for its tensors.
/// \throws  `tier::ConfigError` if options or data do not make a step; `tier::TierError`
[[nodiscard]] Step make_step(const Options& options);

/// Returns the fast memory for tensors of this size, plus libtier's overhead: alignment and shared blocks.
[[nodiscard]] tier::Bytes fast_for(std::size_t bytes);
/// Returns the least fast memory of a run: room for the operands of any kernel if the CPU cannot use the slow tier, else 0.
[[nodiscard]] tier::Bytes least_fast(const Experiment& experiment, const tier::TierSpec& slow);
/// Returns the fast memory of tiered runs; in a comparison or a sweep at least what they need.
[[nodiscard]] tier::Bytes fast_of(const Experiment& experiment, const std::string& fast);

/// Returns the budget of `--prefetch-budget`. By default it is the fast memory minus room for transfers: 30 % of it, or 15
/// % if bytes do not move ahead, but at most half of what the peak lacks. So it is all of it if the peak fits.
[[nodiscard]] Budget budget_of(const Experiment& experiment, tier::Bytes fast, bool ahead);

/// Returns a line on sizes that a comparison or a sweep raised to what runs need, and why; empty if there are none.
[[nodiscard]] std::string raised_sizes(const Experiment& experiment);

/// Returns the runs that the options ask for, in order.
[[nodiscard]] std::vector<PlannedRun> plan_runs(const Options& options);

/// Makes any run but `os_paging`, in this process. In a comparison or a sweep plain memory learns the same in alternation.
[[nodiscard]] RunResult make_run(const PlannedRun& planned, const Experiment& experiment,
                                 tier::tool::TerminalLine& progress, const std::atomic<bool>& stop);

}  // namespace training
