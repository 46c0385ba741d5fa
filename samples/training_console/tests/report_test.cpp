// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training_console/report.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace report_test {

using namespace training;

namespace {

RunResult run_in_tiers() {
  RunResult run;
  run.name = "async";
  run.fast = "20%";
  run.fast_bytes = 2 << 20;
  run.seconds_per_iteration = 0.5;
  run.traffic.bytes_moved = {{"dram>file", 5 << 20}};
  run.traffic.bytes_in = 1 << 20;
  run.traffic.bytes_out = 4 << 20;
  run.traffic.peaks = {{"dram", 3 << 20, 1 << 20}, {"file", 8 << 20}};
  run.layers = {{"conv1", 0.25, 0.125, 1 << 20, 2 << 20}, {"loss1", 0.5, 0, 0, 0}};
  run.subnormals = 7;
  return run;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a report has the peak of each tier, with what of it is no tensor, and their sums") {
  const std::vector runs{run_in_tiers()};
  CHECK(contains(to_table(runs), "dram 3.00 MiB (1.00 MiB), file 8.00 MiB (0 B)"));
  CHECK(contains(to_json(runs), "\"peak_bytes\": 11534336"));
  CHECK(runs.front().traffic.overhead_bytes() == 1U << 20);
}

TEST_CASE("a run is compared with plain memory in turns with it, or else with the first run") {
  RunResult plain;
  plain.name = "plain";
  plain.seconds_per_iteration = 0.4;
  auto run = run_in_tiers();
  CHECK(std::isnan(slowdown_of(run, nullptr)));
  CHECK(contains(to_json(std::vector{run}), "\"slowdown\": null"));
  CHECK(contains(to_json(std::vector{plain, run}), "\"slowdown\": 1.25"));
  run.plain_seconds_per_iteration = 0.25;
  CHECK(contains(to_json(std::vector{plain, run}), "\"slowdown\": 2.0"));
  CHECK(contains(to_table(std::vector{run}), "0.25 s           2.000"));
  CHECK(from_json(to_json(std::vector{run})).front().plain_seconds_per_iteration == 0.25);
}

TEST_CASE("what was brought ahead was in time, and yet is no hit") {
  auto run = run_in_tiers();
  run.traffic.operands = {
      .count = 8, .bytes = 1000, .elsewhere = 2, .bytes_elsewhere = 100, .bytes_brought = 400};
  const auto json = to_json(std::vector{run});
  CHECK(contains(json, "\"fast_share\": 0.6"));
  CHECK(contains(json, "\"on_time_share\": 0.9"));
  CHECK(contains(json, "\"on_time_share_by_object\": 0.75"));
  CHECK(contains(to_table(std::vector{run}), "60.00 %     90.00 %        75.00 %"));
}

TEST_CASE("how much was in time is shown over the iterations, for each run") {
  auto run = run_in_tiers();
  const auto text = [&] { return to_locality(std::vector{run, run_in_tiers()}); };
  CHECK(text().empty());
  CHECK(to_locality({}).empty());
  run.operands.assign(11, {.count = 4, .bytes = 10, .elsewhere = 1, .bytes_elsewhere = 2});
  run.operands.back() = {.count = 4, .bytes = 10, .elsewhere = {}, .bytes_elsewhere = 0};
  CHECK(
      contains(text(), "iteration 1   iteration 3   iteration 5   iteration 7   iteration 9   iteration 11"));
  CHECK(contains(text(), "async                    75.0, 80.0 %  75.0, 80.0 %"));
  CHECK(contains(text(), "n/a, 100.0 %"));
}

TEST_CASE("a run is bound by the longer of computing and moving if they took little longer together") {
  const auto bound = [](double computed, double moved, double waited) {
    auto run = run_in_tiers();
    run.compute_s = computed;
    run.traffic.moving_s = moved;
    run.traffic.stalled_s = waited;
    return bound_of(run);
  };
  CHECK(bound(10, 0, 0) == Bound::Compute);
  CHECK(bound(10, 4, 1) == Bound::Compute);
  CHECK(bound(4, 10, 7) == Bound::Io);
  CHECK(bound(4, 10, 8) == Bound::Neither);
  CHECK(bound(5, 5, 5) == Bound::Neither);
  CHECK(bound(5, 5, std::numeric_limits<double>::quiet_NaN()) == Bound::Unknown);
  CHECK(bound(0, 0, 0) == Bound::Unknown);
}

TEST_CASE("what a report has as JSON is read again") {
  const std::vector runs{run_in_tiers()};
  const auto again = from_json(to_json(runs));
  CHECK(to_json(again) == to_json(runs));
  CHECK(again.front().traffic.bytes_in == runs.front().traffic.bytes_in);
  CHECK(again.front().traffic.bytes_out == runs.front().traffic.bytes_out);
  CHECK(again.front().fast_bytes == runs.front().fast_bytes);
  CHECK(to_table(again) == to_table(runs));
  CHECK(to_inspections(again) == to_inspections(runs));
}

TEST_CASE("layers and subnormal values are shown of each variant of a run") {
  auto best = run_in_tiers();
  best.variants = {run_in_tiers(), run_in_tiers()};
  best.variants.back().name = "other";
  const auto text = to_inspections(std::vector{best});
  CHECK(contains(text, "async: 7 subnormal values written"));
  CHECK(contains(text, "other: 7 subnormal values written"));
  CHECK(contains(text, "conv1  0.2500 s  0.1250 s  1.00 MiB  2.00 MiB"));
}

}  // namespace report_test
