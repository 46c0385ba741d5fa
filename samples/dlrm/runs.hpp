// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The runs that the program can make, by name.
#include <string>
#include <vector>

#include "options.hpp"
#include "sweep.hpp"
#include "train.hpp"

namespace dlrm {

/// What all runs of one call have in common.
struct Experiment {
  Options options;
  Log& log;
  ModelOptions model;
  TrainOptions train;
  BadLines bad_lines{};  ///< of the log
};

/// Counts the log's records, holds out its last tenth, and sizes the model.
/// \throws  `ConfigError` for a log or options that do not make a model.
Experiment make_experiment(const Options& options, Log& log);

/// The log that the options ask for.
std::unique_ptr<Log> make_log(const Options& options);

/// The fast memory that the tables get.
tier::Bytes fast_bytes(const Experiment& experiment);

/// The same with another size of it.
Experiment with_fast(Experiment experiment, const std::string& fast);

/// The runs that the options ask for, in order; `os_paging` is one of `Allowance`.
std::vector<PlannedRun> plan_runs(const Options& options);

/// Learns two batches and forgets them: what oneDNN compiles on first use is not for the first run to pay.
void warm_up(const Experiment& experiment);

RunResult make_run(const std::string& name, const Experiment& experiment, Progress& progress,
                   const std::atomic<bool>& stop);

}  // namespace dlrm
