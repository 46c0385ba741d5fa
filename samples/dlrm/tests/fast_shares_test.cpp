// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dlrm_model/fast_shares.hpp"

#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/memory/tiers.hpp>
#include <tier/runtime/row_policies.hpp>
#include <tier/runtime/runtime.hpp>

#include <algorithm>
#include <limits>
#include <numeric>

#include "click_logs/generated_log.hpp"
#include "common/hashing.hpp"
#include "dlrm/runs.hpp"
#include "dlrm_model/tiered_table.hpp"
#include "table/lru_model.hpp"

namespace fast_shares_test {

using namespace dlrm;
using sample::mix;
using namespace tier::literals;

namespace {

constexpr std::size_t dim = 15;  // a row with its optimiser state fills a cache line
constexpr std::size_t row_bytes = 64;

/// Tables of a generated log, and the data known before the tables are made.
struct Setting {
  Setting(std::vector<std::uint64_t> table_rows, std::string skew, std::uint64_t log_records = 4000)
      : rows{table_rows.begin(), table_rows.end()},
        records{log_records},
        log{{.records = log_records, .rows = std::move(table_rows), .pooling = 8, .skew = std::move(skew)}} {}

  [[nodiscard]] BatchReader asked(std::size_t batch = 64) { return {log, {0, records}, batch, rows}; }
  [[nodiscard]] tier::TableOptions table(std::size_t number) const {
    auto options = table_options({.table = number, .rows = rows[number], .dim = dim, .learning = {}});
    options.policy = tier::make_row_policy("lru");
    return options;
  }
  [[nodiscard]] std::vector<tier::Bytes> by_need(tier::Bytes fast) {
    std::vector<tier::TableOptions> tables;
    for (std::size_t number = 0; number < rows.size(); ++number) tables.push_back(table(number));
    auto reader = asked();
    return shares_by_need(*runtime.manager(), std::move(tables), fast, 0, reader);
  }
  /// Returns the rows that fit a table of this budget.
  [[nodiscard]] std::uint64_t slots(std::size_t number, tier::Bytes budget) const {
    auto options = table(number);
    options.budget = budget;
    const auto bytes = bytes_needed(*runtime.manager(), options);
    return budget >= bytes.whole ? rows[number] : bytes.cache.slots.count / row_bytes;
  }

  std::vector<RowId> rows;
  std::uint64_t records;
  GeneratedLog log;
  tier::Runtime runtime{{.tiers = {tier::tiers::dram(1_MiB), tier::tiers::emulated("cxl", 64_MiB)}}};
};

tier::Bytes sum(const std::vector<tier::Bytes>& shares) {
  return std::accumulate(shares.begin(), shares.end(), tier::Bytes{});
}

/// Returns the rows that textbook caches of these sizes miss.
std::uint64_t misses(Setting& setting, const std::vector<tier::Bytes>& shares) {
  std::vector<std::vector<RowId>> ids(shares.size());
  auto reader = setting.asked();
  while (const auto batch = reader.next()) {
    for (std::size_t table = 0; table < shares.size(); ++table) {
      const auto& asked = batch->lookups[table].ids;
      ids[table].insert(ids[table].end(), asked.begin(), asked.end());
    }
  }
  std::uint64_t sum = 0;
  for (std::size_t table = 0; table < shares.size(); ++table)
    sum += tier::test::lru_misses(ids[table], setting.slots(table, shares[table]));
  return sum;
}

/// An endless log that counts what was read of it.
class EndlessLog final : public Log {
 public:
  explicit EndlessLog(std::size_t ids_in_record) : ids_{ids_in_record} {}
  [[nodiscard]] const LogShape& shape() const override { return shape_; }
  bool next(Record& record) override {
    record.dense.assign(1, 0);
    record.ids.resize(1);
    record.ids[0].resize(ids_);
    for (auto& id : record.ids[0]) id = mix(++numbers_);
    ++numbers_;
    return true;
  }
  void rewind() override {}
  [[nodiscard]] const BadLines& bad_lines() const override { return none_; }
  [[nodiscard]] std::uint64_t numbers() const { return numbers_; }

 private:
  LogShape shape_{.dense = 1, .features = {"T0"}};
  std::size_t ids_;
  std::uint64_t numbers_ = 0;
  BadLines none_;
};

RunResult run(const std::string& name, const Options& options) {
  const std::atomic<bool> stop = false;
  const auto log = make_log(options);
  Progress progress{stderr};
  return make_run(name, make_experiment(options, *log), progress, stop);
}

}  // namespace

TEST_CASE("tables that are alike get alike, and no byte is left over or given twice") {
  for (const std::string skew : {"production", "1"}) {
    CAPTURE(skew);
    Setting setting{{20'000, 20'000, 20'000, 20'000}, skew};
    const tier::Bytes fast{4 * 20'000 * row_bytes / 10};
    const auto shares = setting.by_need(fast);
    const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
    CHECK(static_cast<double>(least->count) > 0.85 * static_cast<double>(most->count));
    CHECK(sum(shares) <= fast);
    CHECK(sum(shares).count > fast.count - 4 * row_bytes);
  }
}

TEST_CASE("shares by need save at least nine tenths of the misses that the best of all divisions saves") {
  for (const std::string skew : {"production", "0.8", "uniform"}) {
    CAPTURE(skew);
    Setting setting{{2000, 18'000}, skew};
    const tier::Bytes fast{20'000 * row_bytes / 10};
    const auto missed = [&](const std::vector<tier::Bytes>& shares) {
      return static_cast<double>(misses(setting, shares));
    };
    const auto by_size = missed(shares_by_size(setting.rows, fast));
    auto fewest = by_size;
    for (std::size_t part = 1; part < 40; ++part) {
      const auto first = fast * part / 40;
      if (setting.slots(0, first) > 0 && setting.slots(1, fast - first) > 0)
        fewest = std::min(fewest, missed({first, fast - first}));
    }
    CHECK(by_size > 1.05 * fewest);
    CHECK(by_size - missed(setting.by_need(fast)) > 0.9 * (by_size - fewest));
  }
}

TEST_CASE("what a short beginning shows no use of is shared by how many rows it asked for once") {
  Setting setting{{50'000, 50'000, 10}, "uniform", 20};  // 160 ids of each table
  const tier::Bytes fast{10'000 * row_bytes};
  const auto shares = setting.by_need(fast);
  CHECK(setting.slots(2, shares[2]) == 10);
  CHECK(sum(shares) <= fast);
  CHECK(sum(shares).count > fast.count - 3 * row_bytes);
  CHECK(std::max(shares[0], shares[1]) * 9 < std::min(shares[0], shares[1]) * 10);
}

TEST_CASE("a log without end is read to an end that does not depend on how long its records are") {
  for (const std::size_t ids_in_record : {1, 2000}) {
    EndlessLog log{ids_in_record};
    BatchReader asked{log, {0, std::numeric_limits<std::uint64_t>::max()}, 64, {1000}};
    Setting setting{{1000}, "uniform"};
    std::vector<tier::TableOptions> tables;
    tables.push_back(setting.table(0));
    CHECK(shares_by_need(*setting.runtime.manager(), std::move(tables), 16_KiB, 0, asked).size() == 1);
    CHECK(log.numbers() > 2'000'000);
    CHECK(log.numbers() < 4'500'000);
  }
}

TEST_CASE("fast memory below what the least caches take is refused with both") {
  Setting setting{{20'000, 20'000}, "uniform"};
  std::string message;
  try {
    std::ignore = setting.by_need(100_KiB);
  } catch (const tier::ConfigError& error) {
    message = error.what();
  }
  CHECK(message.starts_with("a budget of 100KiB for 2 tables is too small"));
}

TEST_CASE("at the same size of fast memory runs by need find more rows there than runs by size") {
  Options options;
  options.samples = 3000;
  options.tables = 3;
  options.rows = {200, 2000, 20'000};
  options.dim = dim;
  options.batch = 64;
  options.threads = 2;
  for (const std::string name : {"lru", "tiered"}) {
    CAPTURE(name);
    options.share = "size";
    const auto by_size = run(name, options);
    options.share = "need";
    const auto by_need = run(name, options);
    CHECK(by_need.traffic.fast_share > by_size.traffic.fast_share + 0.05);
    CHECK(by_need.checksum == by_size.checksum);
    const std::uint64_t fast = 22'200 * row_bytes / 10;
    for (const auto* result : {&by_size, &by_need}) {
      const auto& shares = result->traffic.shares;
      REQUIRE(shares.size() == 3);
      CHECK(shares[0].bytes + shares[1].bytes + shares[2].bytes <= fast);
      CHECK(shares[2].table == "T2");
      CHECK(shares[2].rows == 20'000);
    }
    CHECK(by_need.traffic.shares[0].slots == 200);
    CHECK(by_size.traffic.shares[0].slots < 20);
  }
}

TEST_CASE("with fast memory for all tables are whole, also where their rows are padded") {
  Options options;
  options.samples = 1000;
  options.tables = 2;
  options.rows = {500, 1000};
  options.dim = 62;  // 63 floats with the optimiser state, padded to 64
  options.batch = 64;
  options.threads = 2;
  options.fast = "100%";
  const auto result = run("tiered", options);
  CHECK(result.traffic.fast_share == 1);
  CHECK(result.traffic.bytes_moved.empty());
  CHECK(result.traffic.shares.empty());
}

}  // namespace fast_shares_test
