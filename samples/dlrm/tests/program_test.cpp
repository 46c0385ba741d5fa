// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <omp.h>
#include <tier/core/error.hpp>

#include <cmath>
#include <sstream>

#include "click_logs/tests/temporary_folder.hpp"
#include "common/tier_options.hpp"
#include "dlrm/runs.hpp"
#include "dlrm_console/report.hpp"
#include "support/odd_options.hpp"

namespace program_test {

using namespace dlrm;
using sample::parse_fast;

namespace {

Options parse(std::vector<std::string> arguments) {
  std::ostringstream help;
  auto options = parse_options(std::move(arguments), help);
  REQUIRE(options);
  return *options;
}

std::string refusal(std::vector<std::string> arguments) {
  try {
    const auto options = parse(std::move(arguments));
    const auto log = make_log(options);
    std::ignore = make_experiment(options, *log);
  } catch (const tier::ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

RunResult run_plain(const Options& options, std::atomic<bool>& stop) {
  const auto log = make_log(options);
  Progress progress{stderr};
  return make_run("plain", make_experiment(options, *log), progress, stop);
}

RunResult run_plain(const Options& options) {
  std::atomic<bool> stop = false;
  return run_plain(options, stop);
}

const std::vector<std::string> small_run{"--samples",   "10000", "--tables", "3",       "--rows",
                                         "500,700,900", "--dim", "8",        "--batch", "64"};

}  // namespace

TEST_CASE("an option that is unknown, malformed or contradicts another is refused by name") {
  CHECK(contains(refusal({"--tabels", "3"}), "--tabels"));
  CHECK(contains(refusal({"--batch", "many"}), "--batch"));
  CHECK(contains(refusal({"--batch", "0"}), "--batch must be at least 1"));
  CHECK(contains(refusal({"--dim", "0"}), "--dim must be at least 1"));
  CHECK(contains(refusal({"--optimizer", "adam"}), "adam"));
  CHECK(contains(refusal({"--storage", "int8"}), "int8"));
  CHECK(contains(refusal({"--format", "criteo"}), "--data and --format go together; formats: criteo, avazu"));
  CHECK(contains(refusal({"--data", "x", "--format", "criteo", "--skew", "1"}),
                 "--skew is for the generated log"));
  CHECK(contains(refusal({"--rows", "5", "--table-bytes", "4GB"}), "not both"));
  CHECK(contains(refusal({"--share", "luck"}), "--share"));
  CHECK(contains(refusal({"--table-bytes", "4Gib"}), "unknown unit \"Gib\""));
  CHECK(contains(refusal({"--tables", "3", "--rows", "5,6"}), "--rows has 2 numbers for 3 tables"));
  CHECK(contains(refusal({"--rows", "3000000000"}), "a table of 3000000000 rows"));
  CHECK(contains(refusal({"--table-bytes", "10"}), "a table of 0 rows"));
  CHECK(contains(refusal({"--skew", "steep"}), "unknown skew"));
  CHECK(contains(refusal({"--fast", "0%"}), "bad size or share of fast memory at position 0 of \"0%\""));
  CHECK(contains(refusal({"--fast", "64Mib"}), "unknown unit"));
  CHECK(contains(refusal({"--policy", "psychic"}), "unknown policy \"psychic\""));
  CHECK(contains(refusal({"--row-policy", "psychic"}), "unknown row policy"));
  CHECK(contains(refusal({"--row-policy", "belady"}), "must know all ids that will be asked for"));
  CHECK(contains(refusal({"--slow", "tape:/x:1GiB"}), "\"tape"));
  CHECK(refusal({"--fast", "64MiB", "--samples", "10", "--rows", "10"}) == "accepted");
  CHECK(refusal({"--row-policy", "lfu", "--samples", "10", "--rows", "10"}) == "accepted");
}

TEST_CASE("a number that is too large, alone or with another, is refused with what is allowed") {
  CHECK(refusal({"--dim", "4611686018427387904"}) ==
        "--dim 4611686018427387904 is too large: allowed are 1 to 1048576");
  CHECK(refusal({"--tables", "2305843009213693952"}) ==
        "--tables 2305843009213693952 is too large: allowed are 1 to 65536");
  CHECK(refusal({"--batch", "4294967296"}) == "--batch 4294967296 is too large: allowed are 1 to 16777216");
  CHECK(refusal({"--threads", "4294967296"}) == "--threads 4294967296 is too large: allowed are 0 to 4096");
  CHECK(
      refusal({"--batch", "65536", "--pooling", "65536"}) ==
      "--batch and --pooling: ids of a table in a batch: 65536 x 65536 is too large: 4294967295 is the most");
  CHECK(refusal({"--epochs", "4611686018427387904"}) ==
        "--samples and --epochs: 200000 x 4611686018427387904 is too large: 4611686018427387904 is the most");
  CHECK(refusal({"--rows", "2147483647", "--dim", "1048576"}) ==
        "the bytes of a table: 2147483647 x 4194304 is too large: 1125899906842624 is the most");
  CHECK(refusal({"--rows", "2147483647", "--dim", "65536", "--tables", "65536"}) ==
        "the tables take more than 1125899906842624 bytes");
  CHECK(refusal({"--top", "18446744073709551615"}) ==
        "the width of a layer 18446744073709551615 is too large: allowed are 1 to 16777216");
  CHECK(refusal({"--rate", "1e300"}) == "--rate must be positive and finite");
  CHECK(refusal({"--paging-seconds", "nan"}) == "--paging-seconds must be below 1e9");
}

TEST_CASE("whatever numbers options have, they make an experiment or are refused in words" *
          doctest::test_suite("fuzz")) {
  tier::test::fuzz_options(
      {}, {"--batch",     "--epochs", "--dim",     "--tables",         "--pooling", "--samples", "--rows",
           "--lookahead", "--slots",  "--threads", "--table-bytes",    "--bottom",  "--top",     "--rate",
           "--skew",      "--fast",   "--reserve", "--paging-seconds", "--seed",    "--storage"},
      [](const std::vector<std::string>& line) { CHECK(refusal(line) != ""); });
}

TEST_CASE("a log that changes after it was read through ends the run with an error, not as if interrupted") {
  auto options = parse(small_run);
  const auto log = make_log(options);
  auto experiment = make_experiment(options, *log);
  experiment.train.learn_from.last = 20'000;  // although the log has 10,000
  Progress progress{stderr};
  std::atomic<bool> stop = false;
  CHECK_THROWS_WITH_AS(std::ignore = make_run("plain", experiment, progress, stop),
                       doctest::Contains("the log gave 10000 of the 20000 records that it had"),
                       tier::TierError);
}

TEST_CASE("the help lists every option and is not an error") {
  std::ostringstream help;
  CHECK(!parse_options({"--help"}, help));
  for (const auto* name :
       {"--data",    "--format",        "--batch",     "--epochs",  "--lookahead",     "--tables",
        "--rows",    "--dim",           "--pooling",   "--skew",    "--table-bytes",   "--fast",
        "--slow",    "--policy",        "--slots",     "--compare", "--json",          "--seed",
        "--threads", "--deterministic", "--optimizer", "--run",     "--paging-folder", "--paging-seconds",
        "--limited", "--sweep",         "--plot",      "--reserve", "--one-row",       "--row-policy",
        "--storage", "--share"}) {
    CHECK_MESSAGE(contains(help.str(), name), name);
  }
}

TEST_CASE("tables are as long as said, or fill what they are given") {
  CHECK(rows_of_tables(parse({"--rows", "7"}), 3) == std::vector<RowId>{7, 7, 7});
  CHECK(rows_of_tables(parse({"--rows", "7,8"}), 2) == std::vector<RowId>{7, 8});
  CHECK(rows_of_tables(parse({}), 8) == std::vector<RowId>(8, 3'906'250));  // 4 GB of 32 floats a row
  CHECK(rows_of_tables(parse({"--table-bytes", "1MiB", "--dim", "16"}), 4) == std::vector<RowId>(4, 4096));
  CHECK(rows_of_tables(parse({"--table-bytes", "1MiB", "--dim", "16", "--storage", "half"}), 4) ==
        std::vector<RowId>(4, 8192));
  CHECK(parse_fast("10%", tier::Bytes{1000}) == tier::Bytes{100});
  CHECK(parse_fast("2KiB", tier::Bytes{1000}) == tier::Bytes{2048});
}

TEST_CASE(
    "a slow tier without a size holds all that is needed, and what is wrong with one is said of what was "
    "written") {
  const tier::Bytes needed{1 << 20};
  CHECK(sample::parse_slow("emulated:redl:2MiB", needed).size == tier::Bytes{2 << 20});
  for (const auto* const text : {"", "emulated:redl", "file:/var/tmp", "mapped:/var/tmp"}) {
    CAPTURE(text);
    CHECK(sample::parse_slow(text, needed).size > needed);
  }
  CHECK(sample::parse_slow("emulated:redl", needed).model ==
        sample::parse_slow("emulated:redl:1MiB", needed).model);
  CHECK_THROWS_WITH_AS(static_cast<void>(sample::parse_slow("emulated:fast", needed)),
                       doctest::Contains("of \"emulated:fast\""), tier::ConfigError);
  CHECK_THROWS_AS(static_cast<void>(sample::parse_slow("emulated:cxl:1MiB,emulated:cxl:1MiB", needed)),
                  tier::ConfigError);
  // In a simulated tier the data would be lost.
  for (const auto* const text : {"simulated:redl", "simulated:redl:2MiB"})
    CHECK_THROWS_WITH_AS(static_cast<void>(sample::parse_slow(text, needed)),
                         doctest::Contains("take emulated:redl"), tier::ConfigError);
  CHECK_THROWS_WITH_AS(static_cast<void>(sample::parse_more("dram:1MiB;simulated:cxl:1MiB")),
                       doctest::Contains("take emulated:cxl"), tier::ConfigError);
}

TEST_CASE("a run learns, and ends with the same bits each time") {
  const auto options = parse(small_run);
  const auto first = run_plain(options);
  const auto second = run_plain(options);
  CHECK(first.complete);
  CHECK(first.samples == 9'000);
  CHECK(first.auc > 0.6);
  CHECK(first.log_loss < 0.68);
  CHECK(first.checksum == second.checksum);
  CHECK(first.auc == second.auc);
  CHECK(first.traffic.peak_bytes > 2100 * 9 * sizeof(float));

  auto other = options;
  other.seed = 2;
  CHECK(run_plain(other).checksum != first.checksum);
}

TEST_CASE("look-ahead changes no result") {
  auto options = parse(small_run);
  const auto some = run_plain(options);
  options.lookahead = 0;
  CHECK(run_plain(options).checksum == some.checksum);
  options.lookahead = 1000;  // beyond the end of the log
  CHECK(run_plain(options).checksum == some.checksum);
}

TEST_CASE("an interrupted run still reports what it has") {
  std::atomic<bool> stop = true;
  const auto result = run_plain(parse(small_run), stop);
  CHECK(!result.complete);
  CHECK(result.samples == 0);
  CHECK(std::isfinite(result.auc));
  CHECK(contains(to_table({&result, 1}), "plain (interrupted)"));
}

TEST_CASE("a run on each format of log learns from files") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 200; ++i) text += fmt::format("{} {} {} {}\n", i, i % 20, (i + 1) % 20, (i + 2) % 20);
  const auto path = folder.write("bags", text);
  const auto result = run_plain(
      parse({"--data", path.string(), "--format", "bags", "--rows", "64", "--dim", "8", "--batch", "32"}));
  CHECK(result.complete);
  CHECK(result.samples == 360);
  CHECK(std::isfinite(result.log_loss));
}

TEST_CASE("a run says with how many threads it learned, and how long") {
  auto options = parse(small_run);
  options.threads = 3;
  const auto run = run_plain(options);
  CHECK(run.threads == 3);
  CHECK(run.learning_s > 0);
}

}  // namespace program_test
