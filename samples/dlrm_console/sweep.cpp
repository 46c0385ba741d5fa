// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plot/plot.hpp"

namespace dlrm {
namespace {

namespace fs = std::filesystem;

constexpr std::array shares{"5%", "10%", "20%", "50%", "100%"};
constexpr std::array ways{"tiered", "lru", "first_touch", "os_paging"};

const RunResult* find(std::span<const RunResult> runs, std::string_view name, std::string_view fast) {
  const auto found = std::find_if(runs.begin(), runs.end(),
                                  [&](const auto& run) { return run.name == name && run.fast == fast; });
  return found == runs.end() ? nullptr : &*found;
}

const RunResult* find_plain(std::span<const RunResult> runs) {
  const auto found =
      std::find_if(runs.begin(), runs.end(), [](const auto& run) { return run.name == "plain"; });
  return found == runs.end() ? nullptr : &*found;
}

std::string cell(const RunResult* run, const RunResult* plain) {
  if (run == nullptr) return "-";
  if (plain == nullptr) return fmt::format("{:.0f}", run->samples_per_s);
  return fmt::format("{:.0f} ({:.3g})", run->samples_per_s, run->samples_per_s / plain->samples_per_s);
}

tier::tool::PlotLine line_of(std::span<const RunResult> runs, const std::string& way) {
  tier::tool::PlotLine line{way, {}};
  for (const std::string share : shares)
    if (const auto* run = find(runs, way, share))
      line.points.emplace_back(std::stod(share), run->samples_per_s);
  return line;
}

}  // namespace

std::vector<PlannedRun> plan_sweep() {
  std::vector<PlannedRun> runs{{"plain", shares.back()}};
  for (const auto* share : shares) {
    for (const auto* way : ways) runs.push_back({way, share});
  }
  return runs;
}

std::string to_sweep_table(std::span<const RunResult> runs) {
  std::string text = fmt::format("{:<6}", "fast");
  for (const auto* way : ways) text += fmt::format("  {:<18}", way);
  text += "samples/s (of plain's)\n";
  const auto* plain = find_plain(runs);
  for (const auto* share : shares) {
    text += fmt::format("{:<6}", share);
    for (const auto* way : ways) text += fmt::format("  {:<18}", cell(find(runs, way, share), plain));
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

bool plot_sweep(std::span<const RunResult> runs, const fs::path& name) {
  tier::tool::Plot plot{.x = "fast memory, % of the tables",
                        .y = "samples/s",
                        .axes = "set logscale xy\nset xtics (5, 10, 20, 50, 100)\nset xrange [4:120]\n",
                        .lines = {}};
  for (const auto* way : ways) plot.lines.push_back(line_of(runs, way));
  if (const auto* plain = find_plain(runs)) plot.level = {"plain", plain->samples_per_s};
  return tier::tool::draw(plot, name, "tier-dlrm");
}

}  // namespace dlrm
