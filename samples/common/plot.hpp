// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Lines over sizes of fast memory, drawn by gnuplot.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sample {

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

/// Writes `name`.gnuplot and has gnuplot draw from it `name`.svg and `name`.png.
/// \param program  that says so
/// \return         false, said on stderr, if there is no gnuplot
/// \throws         `tier::TierError` if the file cannot be written or gnuplot fails.
bool draw(const Plot& plot, const std::filesystem::path& name, std::string_view program);

}  // namespace sample
