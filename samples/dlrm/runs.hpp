// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The program's runs, by name.
#include <string>
#include <vector>

#include "dlrm_console/options.hpp"
#include "dlrm_console/sweep.hpp"
#include "dlrm_model/train.hpp"

namespace dlrm {

/// The common settings of all runs of one call.
struct Experiment {
  Options options;
  Log& log;
  ModelOptions model;
  TrainOptions train;
  BadLines bad_lines{};  ///< of the log
};

/// Counts the log's records, holds out its last tenth, and sizes the model.
/// \throws  `ConfigError` if the log or the options do not make a model
Experiment make_experiment(const Options& options, Log& log);

/// Makes the log that the options ask for.
std::unique_ptr<Log> make_log(const Options& options);

/// Returns the fast memory of the tables.
tier::Bytes fast_bytes(const Experiment& experiment);

/// Returns the experiment with another size of fast memory.
Experiment with_fast(Experiment experiment, const std::string& fast);

/// Returns the runs that the options ask for, in order; `Allowance` makes the run `os_paging`.
std::vector<PlannedRun> plan_runs(const Options& options);

/// Learns two batches and forgets them, so that the first run does not pay for what oneDNN compiles on first use.
void warm_up(const Experiment& experiment);

RunResult make_run(const std::string& name, const Experiment& experiment, Progress& progress,
                   const std::atomic<bool>& stop);

}  // namespace dlrm
