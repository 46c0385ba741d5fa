// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The runs that the program can make, by name.
#include <tier/core/bytes.hpp>

#include <atomic>
#include <memory>

#include "common/terminal_line.hpp"
#include "options.hpp"
#include "run/train.hpp"
#include "sweep.hpp"

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

/// The fast memory that tiered runs have.
[[nodiscard]] tier::Bytes fast_of(const Experiment& experiment, const std::string& fast);

/// The runs that the options ask for, in order.
[[nodiscard]] std::vector<PlannedRun> plan_runs(const Options& options);

/// One in this process: any but `os_paging`.
[[nodiscard]] RunResult make_run(const PlannedRun& planned, const Experiment& experiment,
                                 sample::TerminalLine& progress, const std::atomic<bool>& stop);

}  // namespace training
