// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "plot/plot.hpp"
#include "terminal/text_table.hpp"

namespace training {
namespace {

constexpr std::array shares{"100%", "80%", "60%", "50%", "40%", "20%", "11%", "10%", "5%"};
constexpr std::array ways{"async", "sync", "first_touch"};
constexpr double most_slowdown = 1.05;

const RunResult* find(std::span<const RunResult> runs, std::string_view name) {
  const auto found = std::ranges::find(runs, name, &RunResult::name);
  return found == runs.end() ? nullptr : &*found;
}
const RunResult* find(std::span<const RunResult> runs, std::string_view name, std::string_view fast) {
  const auto found =
      std::ranges::find_if(runs, [&](const auto& run) { return run.name == name && run.fast == fast; });
  return found == runs.end() ? nullptr : &*found;
}

std::string seconds(const RunResult* run) {
  return run == nullptr ? "-" : fmt::format("{:.4g} s", run->seconds_per_iteration);
}

/// Returns the ratio of two times; if both runs alternated with plain memory, of their slow-downs.
std::string share(const RunResult* run, const RunResult* of) {
  if (run == nullptr || of == nullptr) return "-";
  const double in_plains = slowdown_of(*run, nullptr) / slowdown_of(*of, nullptr);
  return fmt::format("{:.3f}", std::isfinite(in_plains)
                                   ? in_plains
                                   : run->seconds_per_iteration / of->seconds_per_iteration);
}

/// Returns the run's fast memory in percent of the peak.
double percent(const RunResult& run, std::size_t peak) {
  return 100 * static_cast<double>(run.fast_bytes) / static_cast<double>(peak);
}

}  // namespace

std::vector<PlannedRun> plan_sweep() {
  std::vector<PlannedRun> runs{{"plain", shares.front()}, {"all_slow", shares.back()}};
  for (const auto* share : shares)
    for (const auto* way : ways) runs.push_back({way, share});
  return runs;
}

std::string to_sweep_table(std::span<const RunResult> runs) {
  const auto* const plain = find(runs, "plain");
  const auto* const all_slow = find(runs, "all_slow");
  std::vector<tier::tool::TextRow> rows{
      {"run", "fast", "an iteration", "of plain", "of first_touch", "of all_slow"}};
  for (const auto* way : ways)
    for (const auto* fast : shares) {
      const auto* const run = find(runs, way, fast);
      rows.push_back({way, fast, seconds(run), share(run, plain), share(run, find(runs, "first_touch", fast)),
                      share(run, all_slow)});
    }
  rows.push_back({"all_slow", all_slow == nullptr ? "-" : all_slow->fast, seconds(all_slow),
                  share(all_slow, plain), "-", share(all_slow, all_slow)});
  return tier::tool::to_lines(rows);
}

std::string to_need(std::span<const RunResult> runs, std::size_t peak) {
  const auto* const plain = find(runs, "plain");
  if (plain == nullptr || find(runs, "async") == nullptr) return {};
  const RunResult* least = nullptr;
  for (const auto* fast : shares) {
    const auto* const run = find(runs, "async", fast);
    if (run == nullptr || slowdown_of(*run, plain) > most_slowdown) break;
    least = run;
  }
  if (least == nullptr) return "async is at no size within 5 % of plain\n";
  return fmt::format("async is within 5 % of plain from {:.0f}% fast memory on\n", percent(*least, peak));
}

bool plot_sweep(std::span<const RunResult> runs, std::size_t peak, const std::filesystem::path& name) {
  const auto* const plain = find(runs, "plain");
  const auto height = [&](const RunResult& run) {
    return plain == nullptr ? run.seconds_per_iteration : slowdown_of(run, plain);
  };
  tier::tool::Plot plot{.x = "fast memory, % of the peak",
                        .y = plain == nullptr ? "seconds for an iteration" : "slow-down against plain",
                        .axes = "set xtics (0, 5, 10, 20, 40, 50, 60, 80, 100)\nset xrange [-2:102]\n",
                        .lines = {}};
  for (const auto* way : ways) {
    tier::tool::PlotLine line{way, {}};
    for (const std::string share : shares)
      if (const auto* run = find(runs, way, share))
        line.points.emplace_back(percent(*run, peak), height(*run));
    if (const auto* none = find(runs, "all_slow"))
      line.points.emplace_back(percent(*none, peak), height(*none));
    plot.lines.push_back(std::move(line));
  }
  if (plain != nullptr) plot.level = {"plain", 1};
  return tier::tool::draw(plot, name, "tier-train");
}

}  // namespace training
