// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The runs that the program can make, by name.
#include <tier/core/bytes.hpp>
#include <tier/memory/tiers.hpp>

#include <atomic>
#include <memory>
#include <string>

#include "options.hpp"
#include "run/train.hpp"
#include "sweep.hpp"
#include "terminal/terminal_line.hpp"

namespace training {

/// What all runs of one call have in common.
struct Experiment {
  Options options;
  std::unique_ptr<Data> data;
  Steps steps;
  std::size_t peak = 0;  ///< bytes of the largest step
  TrainOptions train;    ///< but for what is prefetched, which follows from the fast memory
};

/// \throws  `tier::ConfigError` for options or data that do not make one; `tier::TierError`
[[nodiscard]] Experiment make_experiment(const Options& options);

/// The step that `--record-only` writes: that of the longest sequences where they vary. Without data, images are as large
/// and have as many classes as published. Nothing is allocated for its tensors.
/// \throws  `tier::ConfigError` for options or data that do not make one; `tier::TierError`
[[nodiscard]] Step make_step(const Options& options);

/// Fast memory for so many bytes of tensors and what libtier adds: alignment, and blocks that are shared.
[[nodiscard]] tier::Bytes fast_for(std::size_t bytes);
/// What a run needs of fast memory at least: where the CPU cannot use the slow tier, room for the operands of any kernel;
/// else nothing.
[[nodiscard]] tier::Bytes least_fast(const Experiment& experiment, const tier::TierSpec& slow);
/// The fast memory that tiered runs have; in a comparison and in a sweep at least what they need.
[[nodiscard]] tier::Bytes fast_of(const Experiment& experiment, const std::string& fast);

/// Of `--prefetch-budget`; where that is not given, the fast memory but for room for what moves: 30 % of it, or 15 % where
/// bytes do not move ahead, or half of what the peak lacks, if that is less. So all of it where the peak fits.
[[nodiscard]] Budget budget_of(const Experiment& experiment, tier::Bytes fast, bool ahead);

/// A line for a comparison or a sweep in which sizes were raised to what runs need: to which, and why; else empty.
[[nodiscard]] std::string raised_sizes(const Experiment& experiment);

/// The runs that the options ask for, in order.
[[nodiscard]] std::vector<PlannedRun> plan_runs(const Options& options);

/// One in this process: any but `os_paging`. In a comparison and in a sweep plain memory learns the same in turns with it.
[[nodiscard]] RunResult make_run(const PlannedRun& planned, const Experiment& experiment,
                                 tier::tool::TerminalLine& progress, const std::atomic<bool>& stop);

}  // namespace training
