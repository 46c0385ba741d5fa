// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runs.hpp"

#include <tier/core/error.hpp>

#include "logs/generated_log.hpp"
#include "plain_memory.hpp"

namespace dlrm {
namespace {

constexpr std::uint64_t held_out_one_in = 10;

RunResult run_plain(const Experiment& experiment, Progress& progress, const std::atomic<bool>& stop) {
  PlainMemory memory;
  return Trainer{memory, experiment.model, experiment.train, experiment.log, stop}.run("plain", progress);
}

}  // namespace

std::unique_ptr<Log> make_log(const Options& options) {
  if (!options.data.empty()) return open_log(options.data, options.format, options.seed);
  const auto rows = rows_of_tables(options, options.tables);
  return std::make_unique<GeneratedLog>(GeneratedLogOptions{.records = options.samples,
                                                            .rows = {rows.begin(), rows.end()},
                                                            .pooling = options.pooling,
                                                            .skew = options.skew,
                                                            .seed = options.seed});
}

Experiment make_experiment(const Options& options, Log& log) {
  const bool generated = options.data.empty();
  const auto records = generated ? options.samples : count_records(log, options.data, held_out_one_in);
  const auto learned = records - records / held_out_one_in;
  return {.options = options,
          .log = log,
          .model = {.batch = options.batch,
                    .dense = log.shape().dense,
                    .dim = options.dim,
                    .rows = rows_of_tables(options, log.shape().features.size()),
                    .bottom = options.bottom,
                    .top = options.top,
                    .seed = options.seed,
                    .learning = options.learning()},
          .train = {.learn_from = {.first = 0, .last = learned},
                    .test_on = {.first = learned, .last = records},
                    .epochs = options.epochs,
                    .lookahead = options.lookahead}};
}

std::vector<std::string> names_of_runs(const Options& /*options*/) { return {"plain"}; }

RunResult make_run(const std::string& name, const Experiment& experiment, Progress& progress,
                   const std::atomic<bool>& stop) {
  if (name == "plain") return run_plain(experiment, progress, stop);
  throw tier::ConfigError{"unknown run", name, 0, "plain"};
}

}  // namespace dlrm
