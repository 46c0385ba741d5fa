// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dlrm_console/report.hpp"

#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/core/output_file.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>

#include "dlrm_model/progress.hpp"

namespace report_test {

using namespace dlrm;

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the JSON has the promised keys, and null for what is no number") {
  RunResult run;
  run.name = "tiered";
  run.auc = std::numeric_limits<double>::quiet_NaN();
  run.traffic.bytes_moved["dram>cxl"] = 7;
  const auto document = nlohmann::json::parse(to_json({&run, 1}));
  const auto& entry = document.at("runs").at(0);
  for (const auto* key : {"name", "samples_per_s", "auc", "log_loss", "fast_share", "on_time_share",
                          "bytes_moved", "read_amplification", "bytes_per_written_row", "stalled_s",
                          "stalled_share", "peak_bytes", "overhead_bytes", "checksum"}) {
    CHECK_MESSAGE(entry.contains(key), key);
  }
  CHECK(entry.at("auc").is_null());
  CHECK(entry.at("bytes_moved").at("dram>cxl") == 7);
  CHECK_THROWS_AS(tier::write_file("/nonexistent-folder/x.json", "{}"), tier::TierError);
}

TEST_CASE("results read back from their JSON are the same") {
  RunResult variant;
  variant.name = "os_paging_random";
  variant.complete = false;
  variant.out_of_time = true;
  variant.samples_per_s = 12.5;
  variant.learning_s = 2;
  variant.traffic.stalled_s = std::numeric_limits<double>::quiet_NaN();
  variant.traffic.read_amplification = 1.5;
  variant.traffic.bytes_per_written_row = 136.25;
  variant.traffic.bytes_moved["disk>memory"] = 7;
  variant.traffic.memory["dram"] = 9;
  variant.traffic.shares = {{"user", 20, 10, 640}, {"movie", 5, 5, 320}};
  auto run = variant;
  run.fast = "10%";
  run.share = "size";
  run.name = "os_paging";
  run.checksum = 0xfedcba9876543210;
  run.variants = {variant};
  const auto text = to_json({&run, 1});
  const auto again = from_json(text);
  CHECK(to_json(again) == text);
  CHECK(again.at(0).checksum == run.checksum);
  CHECK(again.at(0).traffic.read_amplification == 1.5);
  CHECK(again.at(0).traffic.bytes_per_written_row == 136.25);
  CHECK(again.at(0).traffic.shares == run.traffic.shares);
  CHECK(to_shares(again) == "os_paging, 10% fast by size: user 640 B (50 %), movie 320 B (100 %)\n");
  CHECK(!again.at(0).variants.at(0).checksum);
  CHECK(std::isnan(again.at(0).traffic.stalled_s));
  CHECK(contains(to_table(again), "  os_paging_random (in part)"));
  CHECK_THROWS_AS(std::ignore = from_json("{}"), tier::TierError);
  CHECK_THROWS_AS(std::ignore = from_json(""), tier::TierError);
}

TEST_CASE("the share of the time that was stalled is of all threads' time") {
  RunResult run;
  CHECK(run.stalled_share() == 0);
  run.traffic.stalled_s = 3;
  run.learning_s = 6;
  CHECK(run.stalled_share() == 0.5);
  run.threads = 2;
  CHECK(run.stalled_share() == 0.25);
  CHECK(contains(to_table({&run, 1}), "3.00 s   25.00 % "));
  CHECK(nlohmann::json::parse(to_json({&run, 1})).at("runs").at(0).at("stalled_share") == 0.25);
}

TEST_CASE("the table has a line for each run, and a progress line says how far it is") {
  RunResult run;
  run.name = "lru";
  run.samples_per_s = 1234.4;
  run.traffic.bytes_moved = {{"cxl>dram", 3 << 20}, {"dram>cxl", 1 << 20}};
  const RunResult runs[] = {run, run};
  const auto table = to_table(runs);
  CHECK(std::count(table.begin(), table.end(), '\n') == 3);
  CHECK(contains(table, "1234"));
  CHECK(contains(table, "cxl>dram 3.00 MiB, dram>cxl 1.00 MiB"));
  CHECK(progress_line("plain", {.samples = 50, .total = 100, .seconds = 2, .loss = 0.5, .fast_share = {}}) ==
        "plain       [============            ]  50 %  loss 0.5000  25 samples/s  hits -");
  CHECK(
      contains(progress_line("lru", {.samples = 0, .total = 0, .seconds = 0, .loss = 0, .fast_share = 0.987}),
               "hits 98.7 %"));
}

}  // namespace report_test
