// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training_console/sweep.hpp"

#include <doctest/doctest.h>

#include <array>
#include <iostream>
#include <sstream>

#include "training/runs.hpp"

namespace sweep_test {

using namespace training;
using namespace tier::literals;

namespace {

constexpr std::size_t peak = 1'000;

RunResult run_of(std::string name, std::string fast, double seconds) {
  RunResult run;
  run.name = std::move(name);
  run.fast = std::move(fast);
  run.fast_bytes = static_cast<std::uint64_t>(std::stod(run.fast) * peak / 100);
  run.seconds_per_iteration = seconds;
  return run;
}

/// Returns the cells of the first line that begins with these two.
std::vector<std::string> line_of(const std::string& table, const std::string& run, const std::string& fast) {
  std::istringstream lines{table};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words{line};
    std::vector<std::string> cells;
    for (std::string word; words >> word;)
      if (word != "s") cells.push_back(word);
    if (cells.size() > 2 && cells[0] == run && cells[1] == fast) return cells;
  }
  return {};
}

using Cells = std::vector<std::string>;

std::string need(double at_100, double at_80, double at_60) {
  return to_need(std::vector{run_of("plain", "100%", 1), run_of("async", "100%", at_100),
                             run_of("async", "80%", at_80), run_of("async", "60%", at_60)},
                 peak);
}

Experiment lstm_on(const std::string& slow, const std::string& runs) {
  return make_experiment(*parse_options(
      {"lstm", "--batch", "64", "--width", "256", "--steps", "64", runs, "--slow", slow}, std::cout));
}

}  // namespace

TEST_CASE("a sweep has plain and all_slow once and the others at each size") {
  const auto runs = plan_sweep();
  CHECK(runs.size() == 2 + 3 * 9);
  CHECK(runs[0].name == "plain");
  CHECK(runs[1].name == "all_slow");
  CHECK(runs.back().fast == "5%");
}

TEST_CASE("a sweep's table holds each run against plain, first touch and all slow") {
  const std::vector runs{run_of("plain", "100%", 2), run_of("all_slow", "48.00MiB", 8),
                         run_of("async", "20%", 3), run_of("sync", "20%", 6),
                         run_of("first_touch", "20%", 4)};
  const auto table = to_sweep_table(runs);
  CHECK(line_of(table, "async", "20%") == Cells{"async", "20%", "3", "1.500", "0.750", "0.375"});
  CHECK(line_of(table, "sync", "20%") == Cells{"sync", "20%", "6", "3.000", "1.500", "0.750"});
  CHECK(line_of(table, "first_touch", "20%") == Cells{"first_touch", "20%", "4", "2.000", "1.000", "0.500"});
  CHECK(line_of(table, "all_slow", "48.00MiB") == Cells{"all_slow", "48.00MiB", "8", "4.000", "-", "1.000"});
  CHECK(line_of(table, "async", "10%") == Cells{"async", "10%", "-", "-", "-", "-"});
}

TEST_CASE("where plain memory learned in turns with runs, a sweep compares them by that") {
  std::vector runs{run_of("plain", "100%", 2), run_of("all_slow", "0%", 8), run_of("async", "100%", 3),
                   run_of("first_touch", "100%", 4)};
  const std::array plain{2.0, 4.0, 3.0, 2.0};
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].plain_seconds_per_iteration = plain[i];
  const auto table = to_sweep_table(runs);
  CHECK(line_of(table, "async", "100%") == Cells{"async", "100%", "3", "1.000", "0.500", "0.500"});
  CHECK(line_of(table, "all_slow", "0%") == Cells{"all_slow", "0%", "8", "2.000", "-", "1.000"});
  CHECK(to_need(runs, peak) == "async is within 5 % of plain from 100% fast memory on\n");
}

TEST_CASE("the fast memory that is needed is the least from which on all larger sizes are fast enough") {
  CHECK(need(1.0, 1.05, 1.06) == "async is within 5 % of plain from 80% fast memory on\n");
  CHECK(need(1.0, 1.01, 1.02) == "async is within 5 % of plain from 60% fast memory on\n");
  CHECK(need(1.0, 1.20, 1.02) == "async is within 5 % of plain from 100% fast memory on\n");
  CHECK(need(1.1, 1.0, 1.0) == "async is at no size within 5 % of plain\n");
  CHECK(to_need(std::vector{run_of("plain", "100%", 1)}, peak).empty());
  CHECK(to_need(std::vector{run_of("async", "100%", 1)}, peak).empty());
  std::vector raised{run_of("plain", "100%", 1), run_of("async", "100%", 1), run_of("async", "80%", 1)};
  raised.back().fast_bytes = 853;
  CHECK(to_need(raised, peak) == "async is within 5 % of plain from 85% fast memory on\n");
}

TEST_CASE(
    "where the CPU cannot use the slow tier a sweep and a comparison give kernels what they use, and say "
    "so") {
  std::string runs;
  SUBCASE("sweep") { runs = "--sweep"; }
  SUBCASE("comparison") { runs = "--compare"; }
  const auto of_file = lstm_on("file:/var/tmp", runs);
  const auto largest = largest_working_set(of_file.steps);
  CHECK(largest.kernel.starts_with("lstm"));
  CHECK(fast_of(of_file, "5%").count > largest.bytes);
  CHECK(fast_of(of_file, "100%").count >= of_file.peak);
  const auto note = raised_sizes(of_file);
  CHECK(note.find("kernel " + largest.kernel + " uses ") != std::string::npos);
  CHECK(note.find("--steps-at-once") != std::string::npos);
  const auto of_memory = lstm_on("emulated:redl", runs);
  CHECK(fast_of(of_memory, "5%").count == of_memory.peak / 20);
  CHECK(raised_sizes(of_memory).empty());
}

}  // namespace sweep_test
