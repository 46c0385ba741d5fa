// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <tier/core/error.hpp>
#include <tier/runtime/policies.hpp>
#include <tier/runtime/row_policies.hpp>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "click_logs/tests/temporary_folder.hpp"
#include "common/tests/data_folder.hpp"
#include "dlrm/runs.hpp"
#include "dlrm_model/plain_memory.hpp"
#include "dlrm_model/tiered_memory.hpp"

namespace tiered_test {

using namespace dlrm;
using namespace tier::literals;

namespace {

Options small_options() {
  Options options;
  options.samples = 300;  // enough to move several times the fast memory
  options.tables = 3;
  options.rows = {4000, 2000, 1000};
  options.dim = 32;  // leaves room in a tenth for a slot map of 4 bytes a row
  options.batch = 64;
  options.threads = 2;
  return options;
}

RunResult make(const std::string& name, const Options& options) {
  const std::atomic<bool> stop = false;
  const auto log = make_log(options);
  Progress progress{stderr};
  return make_run(name, make_experiment(options, *log), progress, stop);
}

std::uint64_t bytes_used(const RunResult& run) {
  std::uint64_t sum = run.traffic.in_place_bytes;
  for (const auto& [pair, count] : run.traffic.bytes_moved) sum += count;
  return sum;
}

std::string refusal(const std::string& name, const Options& options) {
  try {
    std::ignore = make(name, options);
  } catch (const tier::ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Flips a bit of this process's open scratch file in `folder`, as a faulty device would.
void flip_a_bit(const std::filesystem::path& folder, off_t offset) {
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (gone || !target.starts_with(folder.string() + "/")) continue;
    const int file = ::open(entry.path().c_str(), O_RDWR);
    REQUIRE(file >= 0);
    char byte = 0;
    REQUIRE(::pread(file, &byte, 1, offset) == 1);
    byte = static_cast<char>(byte ^ 1);
    REQUIRE(::pwrite(file, &byte, 1, offset) == 1);
    REQUIRE(::fsync(file) == 0);
    ::close(file);
    return;
  }
  FAIL("no scratch file is open in ", folder.string());
}

/// Checks that the run computed the same bits and used the slow tier heavily.
void check_same(const RunResult& run, const RunResult& expected, std::size_t fast_bytes) {
  CHECK(run.checksum == expected.checksum);
  CHECK(run.auc == expected.auc);
  CHECK(run.log_loss == expected.log_loss);
  CHECK(bytes_used(run) > 2 * fast_bytes);
}

struct Policies {
  std::string objects, rows;
};

/// Returns every object policy with the default row policy, and every row policy with the default object policy.
std::vector<Policies> every_policy() {
  const Options defaults;
  std::vector<Policies> all;
  for (const auto& name : tier::policy_names()) all.push_back({name, defaults.policy_of_rows()});
  for (const auto name : tier::row_policy_names())
    if (name != defaults.policy_of_rows()) all.push_back({defaults.policy, std::string{name}});
  return all;
}

/// Copies the first lines of a file to one of the same name in `folder`.
std::filesystem::path beginning_of(const std::filesystem::path& file, std::size_t lines,
                                   const TemporaryFolder& folder) {
  std::ifstream whole{file};
  REQUIRE_MESSAGE(whole, "TIER_DATA has no " << file);
  std::string text, line;
  for (std::size_t i = 0; i < lines && std::getline(whole, line); ++i) text += line + "\n";
  return folder.write(file.filename().string(), text);
}

}  // namespace

TEST_CASE("a run at a tenth of fast memory ends with the bits of the plain run, under every policy") {
  const TemporaryFolder folder;
  auto options = small_options();
  const auto fast = tier::Bytes{7'000 * 33 * sizeof(float) / 10};
  for (const auto* optimizer : {"adagrad", "sgd"}) {
    options.optimizer = optimizer;
    const auto expected = make("plain", options);
    for (const auto& [policy, row_policy] : every_policy()) {
      for (const auto& slow :
           {std::string{"emulated:cxl:8MiB"}, fmt::format("file:{}:8MiB", folder.path().string()),
            fmt::format("mapped:{}:8MiB", folder.path().string())}) {
        CAPTURE(policy);
        CAPTURE(row_policy);
        CAPTURE(slow);
        options.policy = policy;
        options.row_policy = row_policy;
        options.slow = slow;
        const auto run = make("tiered", options);
        check_same(run, expected, fast.count);
        CHECK(run.traffic.fast_share < 1);
        if (!slow.starts_with("file:")) continue;  // a file moves whole blocks of rows
        CHECK(run.traffic.read_amplification > 1);
        CHECK(run.traffic.bytes_per_written_row > 32 * sizeof(float));
        CHECK(run.traffic.bytes_per_written_row < 4096);
      }
    }
  }
}

TEST_CASE("a run in three tiers ends with the bits of the plain run, under every policy") {
  const TemporaryFolder folder;
  auto options = small_options();
  const auto expected = make("plain", options);
  options.slow = fmt::format("mapped:{}:8MiB", folder.path().string());
  options.more = "emulated:redl:256KiB";
  for (const auto& [policy, row_policy] : every_policy()) {
    CAPTURE(policy);
    CAPTURE(row_policy);
    options.policy = policy;
    options.row_policy = row_policy;
    const auto run = make("tiered", options);
    CHECK(run.checksum == expected.checksum);
    CHECK(run.auc == expected.auc);
  }
}

TEST_CASE(
    "on real logs a run at a tenth of fast memory ends with the bits of the plain run, and has learned" *
    doctest::test_suite("data")) {
  const auto data = sample::data_folder();
  if (!data) return;
  struct RealLog {
    const char* format;
    const char* path;
    std::size_t lines;
    std::size_t rows;
    std::size_t batch = 128;
  };
  const TemporaryFolder folder;
  beginning_of(*data / "ratings/movies.csv", 100'000, folder);
  for (const auto& log : {RealLog{"criteo", "ctr_criteo/train.tsv", 20'000, 2000},
                          RealLog{"avazu", "ctr_avazu/train.csv", 20'000, 2000},
                          RealLog{"movielens", "ratings/ratings.csv", 20'000, 4000},
                          RealLog{"bags", "interactions/amazon_book_bags.txt", 60'000, 50'000, 1024}}) {
    Options options;
    options.data = beginning_of(*data / log.path, log.lines, folder).string();
    options.format = log.format;
    options.rows = {log.rows};
    options.dim = 32;
    options.batch = log.batch;
    options.threads = 2;
    options.share = "size";  // moves more rows than sharing by need
    CAPTURE(std::string{log.format});
    const auto expected = make("plain", options);
    MESSAGE(std::string{log.format} << ": AUC " << expected.auc << ", log loss " << expected.log_loss);
    CHECK(expected.auc > 0.6);
    const auto tables = make_experiment(options, *make_log(options)).model.rows.size();
    const auto fast = tables * log.rows * 33 * sizeof(float) / 10;
    for (const auto& [policy, row_policy] : every_policy()) {
      for (const auto& slow :
           {std::string{"emulated:cxl:64MiB"}, fmt::format("file:{}:64MiB", folder.path().string())}) {
        CAPTURE(policy);
        CAPTURE(row_policy);
        CAPTURE(slow);
        options.policy = policy;
        options.row_policy = row_policy;
        options.slow = slow;
        const auto run = make("tiered", options);
        check_same(run, expected, fast);
        MESSAGE("  " << policy << ", rows " << row_policy << ", " << slow.substr(0, slow.find(':'))
                     << ": used " << bytes_used(run) / fast << " times what is fast");
      }
    }
  }
}

TEST_CASE("--policy decides for rows too where it can, and --row-policy for rows alone") {
  const auto rows_under = [](const char* policy, const char* row_policy) {
    Options options;
    options.policy = policy;
    options.row_policy = row_policy;
    return options.policy_of_rows();
  };
  CHECK(rows_under("hint_aware", "") == "hint_aware");
  CHECK(rows_under("hint_aware:mode=LM", "") == "hint_aware");
  CHECK(rows_under("lru", "") == "lru");
  CHECK(rows_under("lru", "lfu") == "lfu");
  CHECK(rows_under("mine:limit=4", "") == "hint_aware");

  const TemporaryFolder folder;
  auto options = small_options();
  options.lookahead = 0;
  options.slow = fmt::format("file:{}:8MiB", folder.path().string());  // in memory, timing would matter
  std::set<std::uint64_t> traffic;
  for (const auto name : tier::row_policy_names()) {
    options.row_policy = name;
    traffic.insert(bytes_used(make("tiered", options)));
  }
  CHECK(traffic.size() == tier::row_policy_names().size());
  options.policy = "lru";
  options.row_policy.clear();
  const auto both = make("tiered", options);
  CHECK(bytes_used(both) == bytes_used(make("lru", options)));
}

TEST_CASE(
    "runs on narrow rows end with the bits of the plain run on such rows, and not with those of floats") {
  const TemporaryFolder folder;
  auto options = small_options();
  for (const auto* optimizer : {"adagrad", "sgd"}) {
    options.optimizer = optimizer;
    options.storage = "float";
    const auto floats = make("plain", options).checksum;
    for (const auto* storage : {"half", "bfloat16"}) {
      options.storage = storage;
      options.slow = "";
      const auto expected = make("plain", options);
      CHECK(expected.checksum != floats);
      CHECK(make("all_fast", options).checksum == expected.checksum);
      CHECK(make("os_paging_default", options).checksum == expected.checksum);
      // Rows move to fast memory, or are used in place.
      for (const auto& [policy, slow] :
           {std::pair{"hint_aware", fmt::format("file:{}:8MiB", folder.path().string())},
            std::pair{"lfu", std::string{"emulated:cxl:8MiB"}}}) {
        CAPTURE(storage);
        CAPTURE(policy);
        options.row_policy = policy;
        options.slow = slow;
        const auto run = make("tiered", options);
        CHECK(run.checksum == expected.checksum);
        CHECK(run.auc == expected.auc);
        CHECK(run.traffic.fast_share < 0.9);
      }
    }
  }
}

TEST_CASE("the runs to compare give the same bits, also where all is fast") {
  auto options = small_options();
  options.compare = true;
  std::vector<std::string> names;
  for (const auto& planned : plan_runs(options)) names.push_back(planned.name);
  CHECK(names == std::vector<std::string>{"plain", "all_fast", "tiered", "lru", "first_touch", "os_paging"});
  const auto plain = make("plain", options);
  for (const auto& name : run_names()) {
    CAPTURE(name);
    const auto run = make(name, options);
    CHECK(run.name == name);
    CHECK(run.complete);
    CHECK(run.checksum == plain.checksum);
    if (name == "all_fast") CHECK(run.traffic.fast_share == 1);
    if (name == "all_fast") CHECK(bytes_used(run) == 0);
  }
}

TEST_CASE("a run that the system pages may stop in the middle of a batch, which then counts") {
  auto options = small_options();
  options.paging_seconds = 1e-6;
  for (const auto* name : {"os_paging_default", "os_paging_willneed"}) {
    const auto run = make(name, options);
    CHECK(run.out_of_time);
    CHECK(!run.complete);
    CHECK(run.samples == options.batch);
    CHECK(run.samples_per_s > 0);
    CHECK(!run.checksum);
  }
  options.paging_seconds = 1e6;
  CHECK(make("os_paging_random", options).checksum == make("plain", options).checksum);
}

TEST_CASE("one flipped bit in the slow tier is noticed") {
  const TemporaryFolder folder;
  auto options = small_options();
  options.slow = fmt::format("file:{}:8MiB", folder.path().string());
  const auto log = make_log(options);
  const auto experiment = make_experiment(options, *log);
  const std::atomic<bool> stop = false;
  Progress progress{stderr};
  const auto checksum_with = [&](auto&& harm) {
    TieredMemory memory{{.fast = 200_KiB, .slow = tier::tiers::file(folder.path().string(), 8_MiB)},
                        experiment.model};
    Trainer trainer{memory, experiment.model, experiment.train, *log, stop};
    harm();
    return trainer.run("tiered", progress).checksum;
  };
  const auto expected = make("plain", options).checksum;
  CHECK(checksum_with([] {}) == expected);
  CHECK(checksum_with([&] { flip_a_bit(folder.path(), 2); }) != expected);
}

TEST_CASE("a number of slots is taken instead of a size") {
  auto options = small_options();
  const auto plain = make("plain", options);
  options.slots = 100;
  const auto few = make("tiered", options);
  CHECK(few.checksum == plain.checksum);
  CHECK(few.traffic.fast_share < 1);
  options.slots = 4000;  // as many as the largest table has rows
  const auto all = make("tiered", options);
  CHECK(all.checksum == plain.checksum);
  CHECK(all.traffic.fast_share == 1);
}

TEST_CASE("memory that cannot be had is refused by name") {
  const auto with = [](auto&& change) {
    auto options = small_options();
    change(options);
    return refusal("tiered", options);
  };
  CHECK(contains(with([](Options& o) { o.policy = "psychic"; }), "unknown policy \"psychic\""));
  CHECK(contains(with([](Options& o) { o.policy = "lru:colour=red"; }), "colour"));
  CHECK(contains(with([](Options& o) { o.row_policy = "lur"; }),
                 "unknown row policy (did you mean \"lru\"?) at position 0 of \"lur\""));
  CHECK(contains(with([](Options& o) { o.row_policy = "belady"; }), "make_belady_rows"));
  CHECK(contains(with([](Options& o) { o.slow = "tape:/x:1GiB"; }), "\"tape"));
  CHECK(contains(with([](Options& o) { o.slow = "emulated:abacus:1GiB"; }), "abacus"));
  CHECK(contains(with([](Options& o) { o.more = "emulated:cxl:1GiB;tape:1GiB"; }), "\"tape"));
  CHECK(contains(with([](Options& o) { o.slow = "emulated:cxl:1GiB;emulated:cxl:1GiB"; }),
                 "--slow takes one tier"));
  const auto paging_refusal = [](const std::string& folder) {
    auto options = small_options();
    options.paging_folder = folder;
    try {
      std::ignore = make("os_paging_random", options);
    } catch (const tier::TierError& error) {
      return std::string{error.what()};
    }
    return std::string{"accepted"};
  };
  CHECK(contains(paging_refusal("/nowhere"), "mkostemp of a file in \"/nowhere\""));
  CHECK(contains(with([](Options& o) { o.fast = "10kB"; }), "a budget of"));
}

}  // namespace tiered_test
