// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Draws amounts over the axis: as SVG within HTML, and as data for the script that zooms into it.
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis.hpp"

namespace tier::tool::report {

enum class Unit { Bytes, BytesPerSecond, Threads };

struct Chart {
  std::string title;  ///< any text
  Unit unit{};
  std::string palette;              ///< a class of the style sheet, which gives the layers' colours
  std::span<const Layer> layers;    ///< the lowest first
  std::span<const double> highest;  ///< a line above them; may be empty
  std::optional<double> limit;      ///< a dashed line
  std::string how;                  ///< a sentence under it, any text: how to read it
};

/// The most columns of a picture. Each is the mean of some bins.
inline constexpr std::size_t most_columns = 600;
/// Returns the number of bins in one column.
[[nodiscard]] std::size_t bins_in_column(const Axis& axis) noexcept;

/// Returns a figure whose picture shows the whole axis.
/// \param number  of the chart on its page   \param marks  places to mark on the axis, such as ends of iterations
[[nodiscard]] std::string to_figure(const Chart& chart, const Axis& axis, std::size_t number,
                                    std::span<const Time> marks);
/// Returns the data that the script needs to draw a part of the axis.
[[nodiscard]] nlohmann::json to_json(const Chart& chart);

/// Formats an amount for labels.
[[nodiscard]] std::string human(Unit unit, double amount);
/// Formats a place on the axis, or a stretch of it.
[[nodiscard]] std::string human_place(const Axis& axis, Time place);

}  // namespace tier::tool::report
