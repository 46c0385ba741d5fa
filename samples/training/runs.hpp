// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The runs that the program can make, by name.
#include <memory>

#include "common/terminal_line.hpp"
#include "options.hpp"
#include "run/train.hpp"

namespace training {

/// What all runs of one call have in common.
struct Experiment {
  Options options;
  std::unique_ptr<Data> data;
  Steps steps;
  std::size_t peak = 0;  ///< bytes of the largest step
  TrainOptions train;
};

/// \throws  `tier::ConfigError` for options or data that do not make one; `tier::TierError`
[[nodiscard]] Experiment make_experiment(const Options& options);

/// The runs that the options ask for, in order.
[[nodiscard]] std::vector<std::string> plan_runs(const Options& options);

[[nodiscard]] RunResult make_run(const std::string& name, const Experiment& experiment,
                                 sample::TerminalLine& progress, const std::atomic<bool>& stop);

}  // namespace training
