// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sweep.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/text_table.hpp"

extern char** environ;

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

/// The points of one way, as gnuplot reads them.
std::string points(std::span<const RunResult> runs, const std::string& way) {
  std::string text = fmt::format("${} << END\n", way);
  for (const std::string share : shares) {
    if (const auto* run = find(runs, way, share))
      text += fmt::format("{} {}\n", share.substr(0, share.size() - 1), run->samples_per_s);
  }
  return text + "END\n";
}

std::string gnuplot_text(const std::string& path) {
  std::string quoted;
  for (const char c : path) quoted += c == '\'' ? std::string{"''"} : std::string{c};
  return "'" + quoted + "'";
}

std::string script(std::span<const RunResult> runs, const fs::path& name) {
  std::string text, plots;
  for (const auto* way : ways) {
    if (std::none_of(runs.begin(), runs.end(), [&](const auto& run) { return run.name == way; })) continue;
    text += points(runs, way);
    plots += fmt::format("{}${} using 1:2 with linespoints linewidth 2 title '{}'", plots.empty() ? "" : ", ",
                         way, way);
  }
  if (const auto* plain = find_plain(runs))
    plots += fmt::format("{}{} with lines dashtype 2 linecolor 'black' title 'plain'",
                         plots.empty() ? "" : ", ", plain->samples_per_s);
  text +=
      "set xlabel 'fast memory, % of the tables'\nset ylabel 'samples/s'\nset logscale xy\n"
      "set xtics (5, 10, 20, 50, 100)\nset xrange [4:120]\nset grid\nset termoption noenhanced\n"
      "set key outside right\n";
  for (const auto& [terminal, suffix] : {std::pair{"svg size 720,420 background 'white'", ".svg"},
                                         std::pair{"pngcairo size 1080,630 fontscale 1.3", ".png"}}) {
    text += fmt::format("set terminal {} noenhanced\nset output {}\nplot {}\n", terminal,
                        gnuplot_text(name.string() + suffix), plots);
  }
  return text;
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
  auto file = name.string() + ".gnuplot";
  sample::write_file(file, script(runs, name));
  std::string program = "gnuplot";
  const std::array argv{program.data(), file.data(), static_cast<char*>(nullptr)};
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, program.c_str(), nullptr, nullptr, argv.data(), environ);
  if (error == ENOENT) {
    fmt::print(stderr,
               "tier-dlrm: gnuplot is missing (Debian: gnuplot-nox), so {0}.svg and {0}.png are too; {1} "
               "draws them\n",
               name.string(), file);
    return false;
  }
  int status = 0;
  while (error == 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (error == 0 && status == 0) return true;
  throw tier::TierError{{error == 0 ? EIO : error, std::generic_category()},
                        fmt::format("gnuplot \"{}\"", file)};
}

}  // namespace dlrm
