// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>
#include <tier/core/error.hpp>
#include <tier/runtime/row_policies.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <limits>

#include "click_logs/log.hpp"
#include "common/checked_sizes.hpp"
#include "common/command_line.hpp"
#include "common/tier_options.hpp"

namespace dlrm {
namespace {

// The best of a few values, tried on the logs that the README names.
constexpr float sgd_rate = 0.5F;
constexpr float adagrad_rate = 0.02F;

constexpr const char* default_row_policy = "hint_aware";

constexpr std::uint64_t most_rows = std::numeric_limits<std::int32_t>::max();

void add_log_options(CLI::App& app, Options& o) {
  app.add_option(
      "--data", o.data,
      "Click log to learn from, also packed by gzip or zstd, - for stdin; without it a log is generated");
  app.add_option("--format", o.format, fmt::format("Format of --data: {}", log_formats));
  app.add_option("--table-bytes", o.table_bytes, "Size of all embeddings")->capture_default_str();
  app.add_option("--rows", o.rows,
                 "Rows of each table, instead of --table-bytes: one number for all, or a list a,b,c")
      ->delimiter(',');
  app.add_option("--samples", o.samples, "Generated log: records")->capture_default_str();
  app.add_option("--tables", o.tables, "Generated log: tables")->capture_default_str();
  app.add_option("--pooling", o.pooling, "Generated log: ids of each table in a record")
      ->capture_default_str();
  app.add_option("--skew", o.skew, "Generated log: production, uniform, or a Zipf exponent")
      ->capture_default_str();
}

void add_model_options(CLI::App& app, Options& o) {
  app.add_option("--batch", o.batch, "Samples in a batch")->capture_default_str();
  app.add_option("--epochs", o.epochs, "Times the log is learned from")->capture_default_str();
  app.add_option("--dim", o.dim, "Values in a row")->capture_default_str();
  app.add_option("--storage", o.storage, "How values are stored: float, half or bfloat16, rounded to nearest")
      ->check(CLI::IsMember({"float", "half", "bfloat16"}))
      ->capture_default_str();
  app.add_option("--bottom", o.bottom, "Widths of the hidden layers under the dense features")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--top", o.top, "Widths of the hidden layers over the interaction")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--optimizer", o.optimizer, "sgd or adagrad (row-wise for tables)")
      ->check(CLI::IsMember({"sgd", "adagrad"}))
      ->capture_default_str();
  app.add_option("--rate", o.rate,
                 fmt::format("Learning rate [sgd: {}, adagrad: {}]", sgd_rate, adagrad_rate));
  app.add_option("--seed", o.seed, "Seed of the weights and the generated data")->capture_default_str();
  app.add_option("--threads", o.threads, "Threads that compute; 0: one for each core")->capture_default_str();
  app.add_flag("--deterministic", o.deterministic,
               "The same bits on any machine of one kind: two threads unless --threads says otherwise");
}

void add_memory_options(CLI::App& app, Options& o) {
  app.add_option("--lookahead", o.lookahead, "Batches whose rows are prefetched")->capture_default_str();
  app.add_option("--fast", o.fast, "Fast memory for tables: a size, or a share of their bytes")
      ->take_last()
      ->capture_default_str();
  app.add_option("--share", o.share,
                 "How tables share fast memory: by need, as the first records show, or by size")
      ->check(CLI::IsMember({"need", "size"}))
      ->capture_default_str();
  app.add_option("--slow", o.slow, sample::slow_help);
  app.add_option("--more", o.more, sample::more_help);
  app.add_option("--policy", o.policy,
                 "NAME or NAME:option=value,...; tables use the row policy of that name, if there is one")
      ->capture_default_str();
  app.add_option("--row-policy", o.row_policy,
                 fmt::format("Policy of the tables' row caches: {} [the one of --policy's name, else {}]",
                             fmt::join(tier::row_policy_names(), ", "), default_row_policy));
  app.add_option("--slots", o.slots, "Rows of each table that fast memory holds, instead of --fast");
  app.add_flag("--compare", o.compare,
               "Run plain, all_fast, tiered, lru, first_touch and os_paging, on the same batches");
  app.add_option("--json", o.json, "Write the results to this file; - is stdout, without the table")
      ->take_last();
}

// If the program calls itself, it appends options to those it was given: the last one counts.
void add_run_options(CLI::App& app, Options& o) {
  app.add_flag(
      "--sweep", o.sweep,
      "Run plain, and tiered, lru, first_touch and os_paging at 5, 10, 20, 50 and 100 % fast memory");
  app.add_option("--plot", o.plot, "With --sweep: writes NAME.svg and NAME.png, drawn by gnuplot")
      ->capture_default_str();
  app.add_option("--run", o.run, "Make only this run")->check(CLI::IsMember(run_names()))->take_last();
  app.add_option("--paging-folder", o.paging_folder,
                 "Folder of os_paging's tables [the slow tier's folder, else /var/tmp]");
  app.add_option("--paging-seconds", o.paging_seconds,
                 "Seconds that each variant of os_paging learns at most, without a test after; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--limited", o.limited, "Runs in two tiers get the memory limit of os_paging too");
  app.add_option("--reserve", o.reserve,
                 "With --limited: fast memory that tables leave to queues and the like")
      ->capture_default_str();
  app.add_flag("--one-row", o.one_row,
               "Make tables of one row, to show what the program needs besides tables");
}

void check(bool holds, const std::string& message) {
  if (!holds) throw tier::ConfigError{message};
}

// Far above any machine, but such that products of two or three of these, in bytes, do not overflow.
constexpr std::uint64_t most_width = 1 << 24;
constexpr std::uint64_t most_tables = 1 << 16;
constexpr std::uint64_t most_samples = std::uint64_t{1} << 62;

void check_numbers(const Options& o) {
  struct Range {
    const char* option;
    std::uint64_t value, least, most;
  };
  for (const auto& [option, value, least, most] :
       {Range{"--batch", o.batch, 1, 1 << 24}, Range{"--epochs", o.epochs, 1, most_samples},
        Range{"--dim", o.dim, 1, 1 << 20}, Range{"--tables", o.tables, 1, most_tables},
        Range{"--pooling", o.pooling, 1, 1 << 20}, Range{"--lookahead", o.lookahead, 0, 1 << 20},
        Range{"--slots", o.slots, 0, most_rows}, Range{"--threads", o.threads, 0, 4096}})
    sample::check_range(option, value, least, most);
  constexpr std::uint64_t most_ids = std::numeric_limits<std::uint32_t>::max();
  std::ignore = sample::checked_product({o.batch, o.pooling},
                                        "--batch and --pooling: ids of a table in a batch", most_ids);
  std::ignore = sample::checked_product({o.samples, o.epochs}, "--samples and --epochs", most_samples);
}

void check_options(const CLI::App& app, const Options& o) {
  check(o.data.empty() == o.format.empty(),
        fmt::format("--data and --format go together; formats: {}", log_formats));
  for (const auto* name : {"--samples", "--tables", "--pooling", "--skew"}) {
    check(o.data.empty() || app.count(name) == 0,
          fmt::format("{} is for the generated log, not for --data", name));
  }
  check(app.count("--rows") == 0 || app.count("--table-bytes") == 0,
        "give --rows or --table-bytes, not both");
  check_numbers(o);
  check(!o.rate || (*o.rate > 0 && *o.rate <= std::numeric_limits<float>::max()),
        "--rate must be positive and finite");
  for (const auto width : o.bottom) check(width > 0, "--bottom: a layer must have a width of at least 1");
  for (const auto width : o.top) check(width > 0, "--top: a layer must have a width of at least 1");
  for (const auto& widths : {o.bottom, o.top})
    for (const auto width : widths) sample::check_range("the width of a layer", width, 1, most_width);
  check(o.samples >= 10, "--samples must be at least 10, because a tenth is held out");
  check(std::isfinite(o.paging_seconds) && o.paging_seconds < 1e9, "--paging-seconds must be below 1e9");
  std::ignore = sample::parse_fast(o.fast, tier::Bytes{1 << 20});
  std::ignore = tier::parse_bytes(o.reserve);
  check(!o.sweep || o.slots == 0, "--sweep tries sizes of fast memory: leave out --slots");
  std::ignore = tier::parse_bytes(o.table_bytes);
}

}  // namespace

const std::vector<std::string>& run_names() {
  static const std::vector<std::string> names{
      "plain",       "all_fast",          "tiered",           "lru",
      "first_touch", "os_paging_default", "os_paging_random", "os_paging_willneed"};
  return names;
}

Learning Options::learning() const {
  const auto kind = optimizer == "sgd" ? Optimizer::Sgd : Optimizer::Adagrad;
  if (rate) return {.optimizer = kind, .rate = static_cast<float>(*rate)};
  return {.optimizer = kind, .rate = kind == Optimizer::Sgd ? sgd_rate : adagrad_rate};
}

tier::RowStorage Options::row_storage() const {
  if (storage == "half") return tier::RowStorage::Half;
  return storage == "bfloat16" ? tier::RowStorage::BFloat16 : tier::RowStorage::Float;
}

std::string Options::policy_of_rows() const {
  if (!row_policy.empty()) return row_policy;
  const auto name = policy.substr(0, policy.find(':'));
  const auto names = tier::row_policy_names();
  return std::find(names.begin(), names.end(), name) == names.end() ? default_row_policy : name;
}

std::optional<Options> parse_options(std::vector<std::string> arguments, std::ostream& out) {
  Options options;
  CLI::App app{
      "Trains a deep learning recommendation model whose embedding tables lie in two tiers of memory.",
      "tier-dlrm"};
  app.footer(sample::exit_statuses);
  add_log_options(app, options);
  add_model_options(app, options);
  add_memory_options(app, options);
  add_run_options(app, options);
  options.arguments = arguments;
  if (!sample::parse(app, std::move(arguments), out)) return {};
  check_options(app, options);
  return options;
}

std::vector<RowId> rows_of_tables(const Options& options, std::size_t tables) {
  auto rows = options.rows;
  const auto row_bytes = options.dim * tier::value_bytes(options.row_storage());
  if (rows.empty())
    rows = {tier::parse_bytes(options.table_bytes).count /
            sample::checked_product({tables, row_bytes}, "a row of each table")};
  if (rows.size() == 1) rows.resize(tables, rows.front());
  check(rows.size() == tables, fmt::format("--rows has {} numbers for {} tables", rows.size(), tables));
  std::vector<RowId> result;
  std::uint64_t bytes = 0;
  for (const auto count : rows) {
    check(count > 0 && count <= most_rows,
          fmt::format("a table of {} rows: allowed are 1 to {}", count, most_rows));
    bytes += sample::checked_product({count, row_bytes}, "the bytes of a table");
    check(bytes <= sample::most_bytes, fmt::format("the tables take more than {} bytes", sample::most_bytes));
    result.push_back(static_cast<RowId>(count));
  }
  return result;
}

std::size_t threads_of(const Options& options) {
  if (options.threads > 0) return options.threads;
  return options.deterministic ? 2 : static_cast<std::size_t>(omp_get_num_procs());
}

}  // namespace dlrm
