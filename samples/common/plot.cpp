// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/plot.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <tier/core/error.hpp>

#include <array>
#include <cerrno>

#include "common/text_table.hpp"

extern char** environ;

namespace sample {
namespace {

std::string gnuplot_text(const std::string& text) {
  std::string quoted;
  for (const char c : text) quoted += c == '\'' ? std::string{"''"} : std::string{c};
  return "'" + quoted + "'";
}

/// Titles need not be names of gnuplot's.
std::string block_of(std::size_t line) { return fmt::format("$line{}", line); }

/// As gnuplot reads them.
std::string points_of(const PlotLine& line, const std::string& block) {
  std::string text = block + " << END\n";
  for (const auto& [x, y] : line.points) text += fmt::format("{} {}\n", x, y);
  return text + "END\n";
}

std::string script_of(const Plot& plot, const std::filesystem::path& name) {
  std::string text, plots;
  const auto add = [&](const std::string& part) { plots += (plots.empty() ? "" : ", ") + part; };
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    const auto& line = plot.lines[i];
    if (line.points.empty()) continue;
    text += points_of(line, block_of(i));
    add(fmt::format("{} using 1:2 with {} title {}", block_of(i), line.style, gnuplot_text(line.title)));
  }
  if (plot.level)
    add(fmt::format("{} with lines dashtype 2 linecolor 'black' title {}", plot.level->second,
                    gnuplot_text(plot.level->first)));
  text += fmt::format(
      "set xlabel {}\nset ylabel {}\n{}set grid\nset termoption noenhanced\nset key outside right\n",
      gnuplot_text(plot.x), gnuplot_text(plot.y), plot.axes);
  for (const auto& [terminal, suffix] : {std::pair{"svg size 720,420 background 'white'", ".svg"},
                                         std::pair{"pngcairo size 1080,630 fontscale 1.3", ".png"}}) {
    text += fmt::format("set terminal {} noenhanced\nset output {}\nplot {}\n", terminal,
                        gnuplot_text(name.string() + suffix), plots);
  }
  return text;
}

}  // namespace

bool draw(const Plot& plot, const std::filesystem::path& name, std::string_view program) {
  auto file = name.string() + ".gnuplot";
  write_file(file, script_of(plot, name));
  std::string gnuplot = "gnuplot";
  const std::array argv{gnuplot.data(), file.data(), static_cast<char*>(nullptr)};
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, gnuplot.c_str(), nullptr, nullptr, argv.data(), environ);
  if (error == ENOENT) {
    fmt::print(
        stderr,
        "{2}: gnuplot is missing (Debian: gnuplot-nox), so {0}.svg and {0}.png are too; {1} draws them\n",
        name.string(), file, program);
    return false;
  }
  int status = 0;
  while (error == 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (error == 0 && status == 0) return true;
  throw tier::TierError{{error == 0 ? EIO : error, std::generic_category()},
                        fmt::format("gnuplot \"{}\"", file)};
}

}  // namespace sample
