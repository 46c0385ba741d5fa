// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runs.hpp"

#include <fmt/format.h>
#include <tier/core/error.hpp>
#include <tier/memory/spec.hpp>
#include <tier/runtime/policies.hpp>
#include <tier/runtime/row_policies.hpp>

#include <algorithm>
#include <map>
#include <tuple>

#include "click_logs/generated_log.hpp"
#include "common/tier_options.hpp"
#include "dlrm_model/paged_memory.hpp"
#include "dlrm_model/plain_memory.hpp"
#include "dlrm_model/tiered_memory.hpp"

namespace dlrm {
namespace {

using namespace tier::literals;
using sample::parse_fast;
using sample::parse_slow;

constexpr std::uint64_t held_out_one_in = 10;

RunResult run_plain(const Experiment& experiment, Progress& progress, const std::atomic<bool>& stop) {
  PlainMemory memory;
  return Trainer{memory, experiment.model, experiment.train, experiment.log, stop}.run("plain", progress);
}

RunResult run_tiered(const std::string& name, const TieredOptions& options, const TrainOptions& train,
                     const Experiment& experiment, Progress& progress, const std::atomic<bool>& stop) {
  TieredMemory memory{options, experiment.model};
  if (experiment.options.share == "need") {
    BatchReader asked{experiment.log, train.learn_from, experiment.model.batch, experiment.model.rows,
                      train.epochs};
    memory.share_by_need(asked);
  }
  auto result = Trainer{memory, experiment.model, train, experiment.log, stop}.run(name, progress);
  auto& shares = result.traffic.shares;
  for (std::size_t table = 0; table < shares.size(); ++table)
    shares[table].table = experiment.log.shape().features[table];
  return result;
}

std::string paging_folder(const Options& options) {
  return options.paging_folder.empty() ? sample::paging_folder(options.slow) : options.paging_folder;
}

RunResult run_paged(const std::string& name, const Experiment& experiment, Progress& progress,
                    const std::atomic<bool>& stop) {
  const auto& options = experiment.options;
  const std::map<std::string, tier::bench::Paging> variants{
      {"os_paging_default", tier::bench::Paging::Default},
      {"os_paging_random", tier::bench::Paging::Random},
      {"os_paging_willneed", tier::bench::Paging::WillNeed}};
  PagedMemory memory{paging_folder(options), variants.at(name), options.paging_seconds};
  return Trainer{memory, experiment.model, experiment.train, experiment.log, stop}.run(name, progress);
}

tier::Bytes reserve(const Experiment& experiment) {
  if (!experiment.options.limited || experiment.options.one_row) return {};
  const auto reserved = tier::parse_bytes(experiment.options.reserve);
  const auto fast = parse_fast(experiment.options.fast, bytes_of_tables(experiment.model));
  if (reserved < fast) return reserved;
  throw tier::ConfigError{fmt::format("--reserve {} leaves nothing of the {} of fast memory",
                                      experiment.options.reserve, tier::to_human(fast))};
}

TieredOptions tiered_options(const Experiment& experiment) {
  const auto tables = bytes_of_tables(experiment.model);
  return {.fast = parse_fast(experiment.options.fast, tables) - reserve(experiment),
          .slots = experiment.options.slots,
          .slow = parse_slow(experiment.options.slow, tables),
          .more = sample::parse_more(experiment.options.more),
          .threads = static_cast<unsigned>(threads_of(experiment.options))};
}

/// Checks the tier options early. Errors would otherwise show only after the runs that need no tiers.
void check_tiers(const Options& options) {
  std::ignore = tier::make_policy(options.policy);
  std::ignore = tier::make_row_policy(options.policy_of_rows());
  std::ignore = sample::parse_more(options.more);
  const auto slow = parse_slow(options.slow, 1_MiB);
  if (options.limited && slow.path.empty())
    throw tier::ConfigError{"--limited is for a slow tier that is a file, but --slow names memory"};
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
  auto [records, bad_lines] = generated ? LogContents{.records = options.samples, .bad_lines = {}}
                                        : read_through(log, options.data, held_out_one_in);
  const auto learned = records - records / held_out_one_in;
  auto rows = rows_of_tables(options, log.shape().features.size());
  if (options.one_row) rows.assign(rows.size(), 1);
  return {.options = options,
          .log = log,
          .model = {.batch = options.batch,
                    .dense = log.shape().dense,
                    .dim = options.dim,
                    .rows = std::move(rows),
                    .bottom = options.bottom,
                    .top = options.top,
                    .seed = options.seed,
                    .learning = options.learning(),
                    .storage = options.row_storage()},
          .train = {.learn_from = {.first = 0, .last = learned},
                    .test_on = {.first = learned, .last = records},
                    .epochs = options.epochs,
                    .lookahead = options.lookahead},
          .bad_lines = std::move(bad_lines)};
}

std::vector<PlannedRun> plan_runs(const Options& options) {
  if (!options.run.empty()) return {{options.run, options.fast}};
  if (options.sweep) return plan_sweep();
  std::vector<PlannedRun> runs;
  const std::vector<std::string> all{"plain", "all_fast", "tiered", "lru", "first_touch", "os_paging"};
  for (const auto& name : options.compare ? all : std::vector<std::string>{"tiered"})
    runs.push_back({name, options.fast});
  return runs;
}

Experiment with_fast(Experiment experiment, const std::string& fast) {
  experiment.options.fast = fast;
  return experiment;
}

tier::Bytes fast_bytes(const Experiment& experiment) {
  const auto& options = experiment.options;
  const auto& model = experiment.model;
  if (options.slots == 0) return parse_fast(options.fast, bytes_of_tables(model));
  auto cached = model;
  for (auto& rows : cached.rows) rows = static_cast<RowId>(std::min<std::size_t>(rows, options.slots));
  return bytes_of_tables(cached);
}

void warm_up(const Experiment& experiment) {
  constexpr RowId few_rows = 64;  // tables are not warmed up
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
  if (name.starts_with("os_paging")) return run_paged(name, experiment, progress, stop);
  auto memory = tiered_options(experiment);
  auto train = experiment.train;
  if (name == "all_fast") {
    memory.slow.reset();
    memory.more.clear();
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
  result.fast = experiment.options.fast;
  result.share = experiment.options.share;
  result.threads = threads_of(experiment.options);
  return result;
}

}  // namespace dlrm
