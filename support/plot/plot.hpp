// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Draws lines over sizes of fast memory with gnuplot. Every file is written as a whole or not at all.
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
  std::string style = "linespoints linewidth 2";  ///< in gnuplot's language
};
struct Plot {
  std::string x, y;                                       ///< what the axes show
  std::string axes;                                       ///< further commands: scales, tics, ranges
  std::vector<PlotLine> lines;                            ///< those without points are left out
  std::optional<std::pair<std::string, double>> level{};  ///< a reference line: its title and its height
};

/// Writes `name`.gnuplot and has gnuplot draw `name`.svg and `name`.png from it.
/// \param program  named in messages
/// \return         false, after a message on stderr, if there is no gnuplot
/// \throws         `TierError` if a file cannot be written or gnuplot fails
bool draw(const Plot& plot, const std::filesystem::path& name, std::string_view program);

/// Has gnuplot draw this one file.
/// \throws  `TierError` if that fails, or if there is no gnuplot
void draw_svg(const Plot& plot, const std::string& path);

/// Checks that there is gnuplot, before a plot's data are computed.
/// \throws  `TierError` naming the path if there is none
void require_gnuplot(const std::string& path);

}  // namespace tier::tool
