// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Lines over sizes of fast memory, drawn by gnuplot. Every file is written as a whole or not at all.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tier::tool {

struct PlotLine {
  std::string title;
  std::vector<std::pair<double, double>> points;
  std::string style = "linespoints linewidth 2";  ///< of gnuplot
};
struct Plot {
  std::string x, y;                                       ///< what the axes show
  std::string axes;                                       ///< further commands: scales, tics, ranges
  std::vector<PlotLine> lines;                            ///< those without points are left out
  std::optional<std::pair<std::string, double>> level{};  ///< to compare with: its title and its height
};

/// Writes `name`.gnuplot, by which gnuplot draws `name`.svg and `name`.png, and has it draw them.
/// \param program  that says so
/// \return         false, said on stderr, if there is no gnuplot
/// \throws         `TierError` if a file cannot be written or gnuplot fails
bool draw(const Plot& plot, const std::filesystem::path& name, std::string_view program);

/// Has gnuplot draw this file alone.
/// \throws  `TierError` likewise, and if there is no gnuplot
void draw_svg(const Plot& plot, const std::string& path);

/// Before what is to be drawn is computed.
/// \throws  `TierError` naming the path if there is no gnuplot
void require_gnuplot(const std::string& path);

}  // namespace tier::tool
