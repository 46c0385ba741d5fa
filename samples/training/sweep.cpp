// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/text_table.hpp"
#include "plot/plot.hpp"

namespace training {
namespace {

constexpr std::array shares{"100%", "80%", "60%", "50%", "40%", "20%", "11%", "10%", "5%"};
constexpr std::array ways{"async", "sync", "first_touch"};

const RunResult* find(std::span<const RunResult> runs, std::string_view name) {
  const auto found = std::ranges::find(runs, name, &RunResult::name);
  return found == runs.end() ? nullptr : &*found;
}
const RunResult* find(std::span<const RunResult> runs, std::string_view name, std::string_view fast) {
  const auto found =
      std::ranges::find_if(runs, [&](const auto& run) { return run.name == name && run.fast == fast; });
  return found == runs.end() ? nullptr : &*found;
}

std::string cell(const RunResult* run, const RunResult* plain) {
  if (run == nullptr) return "-";
  if (plain == nullptr) return fmt::format("{:.4g} s", run->seconds_per_iteration);
  return fmt::format("{:.4g} s ({:.3f})", run->seconds_per_iteration,
                     run->seconds_per_iteration / plain->seconds_per_iteration);
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
  std::vector<sample::TextRow> rows{{"fast", "async", "sync", "first_touch"}};
  for (const auto* share : shares) {
    sample::TextRow row{share};
    for (const auto* way : ways) row.push_back(cell(find(runs, way, share), plain));
    rows.push_back(std::move(row));
  }
  const auto none = cell(find(runs, "all_slow"), plain);
  rows.push_back({"none", none, none, none});
  return "seconds for an iteration (of plain's)\n" + sample::to_lines(rows);
}

bool plot_sweep(std::span<const RunResult> runs, const std::filesystem::path& name) {
  const auto* const plain = find(runs, "plain");
  const double unit = plain == nullptr ? 1 : plain->seconds_per_iteration;
  tier::tool::Plot plot{.x = "fast memory, % of the peak",
                        .y = plain == nullptr ? "seconds for an iteration" : "slow-down against plain",
                        .axes = "set xtics (0, 5, 10, 20, 40, 50, 60, 80, 100)\nset xrange [-2:102]\n",
                        .lines = {}};
  for (const auto* way : ways) {
    tier::tool::PlotLine line{way, {}};
    for (const std::string share : shares)
      if (const auto* run = find(runs, way, share))
        line.points.emplace_back(std::stod(share), run->seconds_per_iteration / unit);
    if (const auto* none = find(runs, "all_slow"))
      line.points.emplace_back(0, none->seconds_per_iteration / unit);
    plot.lines.push_back(std::move(line));
  }
  if (plain != nullptr) plot.level = {"plain", 1};
  return tier::tool::draw(plot, name, "tier-train");
}

}  // namespace training
