// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runs.hpp"

#include <fmt/format.h>
#include <tier/core/error.hpp>
#include <tier/memory/spec.hpp>
#include <tier/runtime/policies.hpp>
#include <tier/runtime/row_policies.hpp>

#include <tuple>

#include "logs/generated_log.hpp"
#include "plain_memory.hpp"
#include "tiered_memory.hpp"

namespace dlrm {
namespace {

constexpr std::uint64_t held_out_one_in = 10;

RunResult run_plain(const Experiment& experiment, Progress& progress, const std::atomic<bool>& stop) {
  PlainMemory memory;
  return Trainer{memory, experiment.model, experiment.train, experiment.log, stop}.run("plain", progress);
}

RunResult run_tiered(const std::string& name, const TieredOptions& options, const TrainOptions& train,
                     const Experiment& experiment, Progress& progress, const std::atomic<bool>& stop) {
  TieredMemory memory{options, experiment.model};
  return Trainer{memory, experiment.model, train, experiment.log, stop}.run(name, progress);
}

tier::TierSpec parse_slow(const std::string& text, tier::Bytes tables) {
  if (text.empty()) return tier::tiers::emulated("cxl", 2 * tables);
  auto tiers = tier::parse_tiers(text);
  if (tiers.size() == 1) return tiers.front();
  throw tier::ConfigError{fmt::format("--slow takes one tier; \"{}\" has {}", text, tiers.size())};
}

TieredOptions tiered_options(const Experiment& experiment) {
  const auto tables = bytes_of_tables(experiment.model);
  return {.fast = parse_fast(experiment.options.fast, tables),
          .slots = experiment.options.slots,
          .slow = parse_slow(experiment.options.slow, tables),
          .threads = static_cast<unsigned>(threads_of(experiment.options))};
}

/// What is wrong here would otherwise show only after the runs that need no tiers.
void check_tiers(const Options& options) {
  std::ignore = tier::make_policy(options.policy);
  std::ignore = tier::make_row_policy(options.policy_of_rows());
  std::ignore = parse_slow(options.slow, {});
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
  check_tiers(options);
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

std::vector<std::string> names_of_runs(const Options& options) {
  if (options.compare) return {"plain", "all_fast", "tiered", "lru", "first_touch"};
  return {"tiered"};
}

void warm_up(const Experiment& experiment) {
  constexpr RowId few_rows = 64;  // tables are no part of it
  auto options = experiment.model;
  options.rows.assign(options.rows.size(), few_rows);
  PlainMemory memory;
  Dlrm model{memory, options};
  BatchReader reader{experiment.log, {.first = 0, .last = 2 * options.batch}, options.batch, options.rows};
  while (const auto batch = reader.next()) {
    model.train(*batch);
    model.predict(*batch, [](float) {});
  }
}

namespace {

RunResult run_by_name(const std::string& name, const Experiment& experiment, Progress& progress,
                      const std::atomic<bool>& stop) {
  const auto& options = experiment.options;
  if (name == "plain") return run_plain(experiment, progress, stop);
  auto memory = tiered_options(experiment);
  auto train = experiment.train;
  if (name == "all_fast") {
    memory.slow.reset();
  } else if (name == "tiered") {
    memory.policy = options.policy;
    memory.row_policy = options.policy_of_rows();
  } else {
    memory.policy = memory.row_policy = name;  // lru and first_touch: without hints
    train.lookahead = 0;
  }
  return run_tiered(name, memory, train, experiment, progress, stop);
}

}  // namespace

RunResult make_run(const std::string& name, const Experiment& experiment, Progress& progress,
                   const std::atomic<bool>& stop) {
  auto result = run_by_name(name, experiment, progress, stop);
  result.threads = threads_of(experiment.options);
  return result;
}

}  // namespace dlrm
