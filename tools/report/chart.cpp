// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "format.hpp"

namespace tier::tool::report {
namespace {

constexpr double height = 1000;  // of a picture, in its own units; the width is the number of bins

std::string fixed(double number, int digits = 1) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, number);
  return text.data();
}

/// Combines bins into columns, by mean or by maximum.
std::vector<double> columns_of(std::span<const double> bins, std::size_t group, bool highest) {
  std::vector<double> columns;
  for (std::size_t first = 0; first < bins.size(); first += group) {
    const auto some = bins.subspan(first, std::min(group, bins.size() - first));
    double sum = 0;
    for (const auto value : some) sum += value;
    columns.push_back(highest ? std::ranges::max(some) : sum / static_cast<double>(some.size()));
  }
  return columns;
}

/// Returns a path of steps, level over each column.
std::string steps(std::span<const double> columns, std::size_t group, std::size_t bins, double top) {
  std::string path;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto y = fixed(height * (1 - std::min(1.0, columns[i] / top)));
    path += i == 0 ? "M0 " + y : "V" + y;
    auto last = i;
    while (last + 1 < columns.size() && columns[last + 1] == columns[i]) ++last;
    i = last;
    path += "H" + std::to_string(std::min(bins, (i + 1) * group));
  }
  return path;
}

/// Closes the line to an area down to zero.
std::string area(const std::string& line) { return line + "V1000H0Z"; }

/// Returns the distance of ticks: 1, 2 or 5 times a power of ten; for bytes a power of two.
double step_of(Unit unit, double top, double most_ticks) {
  if (unit == Unit::Bytes) return std::exp2(std::ceil(std::log2(std::max(1.0, top / most_ticks))));
  const auto power = std::pow(10, std::floor(std::log10(top / most_ticks)));
  for (const double times : {1, 2, 5})
    if (top / (power * times) <= most_ticks) return power * times;
  return power * 10;
}

/// Returns the top of the picture: above all amounts, and above the limit unless that would flatten them.
/// \param group  bins in a column
double top_of(const Chart& chart, std::size_t group) {
  double most = 0;
  if (!chart.highest.empty()) most = std::ranges::max(chart.highest);
  std::vector<double> sums;
  for (const auto& layer : chart.layers) {
    const auto columns = columns_of(layer.values, group, false);
    sums.resize(columns.size());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += columns[i];
  }
  if (!sums.empty()) most = std::max(most, std::ranges::max(sums));
  constexpr double least_share = 0.1;
  if (chart.limit && most >= least_share * *chart.limit) most = std::max(most, *chart.limit);
  return most > 0 ? most * 1.05 : 1;
}

std::string y_axis(const Chart& chart, double top) {
  std::string html;
  constexpr int most_ticks = 5;
  const auto step = step_of(chart.unit, top, most_ticks);
  for (int i = 0; i <= most_ticks && i * step <= top; ++i) {
    const auto tick = i * step;
    html += "<i style=\"bottom:" + fixed(100 * tick / top, 2) + "%\"><b>" + escape(human(chart.unit, tick)) +
            "</b></i>";
  }
  return html;
}

std::string x_axis(const Axis& axis) {
  constexpr int most_ticks = 6;
  std::string html;
  const auto begin = static_cast<double>(axis.begin);
  const auto span = static_cast<double>(axis.bins) * static_cast<double>(axis.width);
  const auto step = std::max(1.0, step_of(Unit::Threads, span, most_ticks));
  const auto first = std::ceil(begin / step) * step;
  for (int i = 0; i <= most_ticks; ++i) {  // counted, since a small step may not change a late time
    const auto tick = first + i * step;
    if (tick > begin + span) break;
    const auto text = tick == 0 ? "0" : axis.timed ? human_time(tick) : human_number(tick, 6);
    html +=
        "<i style=\"left:" + fixed(100 * (tick - begin) / span, 2) + "%\"><b>" + escape(text) + "</b></i>";
  }
  return html;
}

std::string legend(const Chart& chart, double top) {
  std::string html = "<ul class=\"legend\">";
  for (const auto& layer : chart.layers)
    html += "<li><span class=\"swatch c" + std::to_string(layer.colour) + "\"></span>" +
            escape_name(layer.name) + "</li>";
  if (!chart.highest.empty()) html += "<li><span class=\"swatch line\"></span>highest</li>";
  if (chart.limit)
    html += "<li><span class=\"swatch limit\"></span>capacity " + escape(human(chart.unit, *chart.limit)) +
            (*chart.limit > top ? ", far above this picture" : "") + "</li>";
  return html + "</ul>";
}

/// Packs repeated values as [value, count].
nlohmann::json packed(std::span<const double> values) {
  auto json = nlohmann::json::array();
  for (std::size_t i = 0; i < values.size();) {
    const auto rounded = [&](std::size_t place) {  // to four significant digits; whole numbers stay
      const auto value = values[place];
      if (value == 0 || value >= 1e4) return std::round(value);
      const auto unit = std::pow(10, std::floor(std::log10(value)) - 3);
      return std::round(value / unit) * unit;
    };
    const auto value = rounded(i);
    std::size_t count = 1;
    while (i + count < values.size() && rounded(i + count) == value) ++count;
    const auto number = std::abs(value) < 9e15 && value == std::round(value)
                            ? nlohmann::json(static_cast<std::int64_t>(value))
                            : nlohmann::json(value);
    if (count == 1)
      json.push_back(number);
    else
      json.push_back({number, count});
    i += count;
  }
  return json;
}

}  // namespace

std::size_t bins_in_column(const Axis& axis) noexcept {
  return (axis.bins + most_columns - 1) / most_columns;
}

std::string human(Unit unit, double amount) {
  switch (unit) {
    case Unit::Bytes:
      return amount == 0 ? "0" : human_bytes(amount);
    case Unit::BytesPerSecond:
      return amount == 0 ? "0" : human_rate(amount);
    case Unit::Threads:
      return human_number(amount, 3);
  }
  return {};
}

std::string human_place(const Axis& axis, Time place) {
  const auto number = static_cast<double>(place);
  return axis.timed ? human_time(number) : counted(static_cast<std::uint64_t>(place), "kernel");
}

std::string to_figure(const Chart& chart, const Axis& axis, std::size_t number, std::span<const Time> marks) {
  const auto group = bins_in_column(axis);
  const auto top = top_of(chart, group);
  std::string areas;
  std::vector<double> sums((axis.bins + group - 1) / group);
  for (const auto& layer : chart.layers) {
    const auto columns = columns_of(layer.values, group, false);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += columns[i];
    // Later paths cover earlier ones, so the lowest layer comes last.
    areas = "<path class=\"c" + std::to_string(layer.colour) + "\" d=\"" +
            area(steps(sums, group, axis.bins, top)) + "\"/>" + areas;
  }
  const auto label = escape_name(chart.title);
  std::string html = "<figure class=\"chart " + chart.palette + "\" data-chart=\"" + std::to_string(number) +
                     "\"><figcaption>" + label + "</figcaption><div class=\"plot\"><div class=\"y\">" +
                     y_axis(chart, top) + "</div><div class=\"x\">" + x_axis(axis) + "</div>";
  html += "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"" + label +
          "\" viewBox=\"0 0 " + std::to_string(axis.bins) +
          " 1000\" preserveAspectRatio=\"none\"><g class=\"areas\">" + areas + "</g>";
  html +=
      "<path class=\"highest\" d=\"" +
      (chart.highest.empty() ? "" : steps(columns_of(chart.highest, group, true), group, axis.bins, top)) +
      "\"/>";
  for (const auto mark : marks) {
    const auto x = fixed(static_cast<double>(mark - axis.begin) / static_cast<double>(axis.width), 2);
    html += "<path class=\"mark\" d=\"M" + x + " 0V1000\"/>";
  }
  if (chart.limit && *chart.limit <= top)
    html += "<path class=\"limit\" d=\"M0 " + fixed(height * (1 - *chart.limit / top)) + "H" +
            std::to_string(axis.bins) + "\"/>";
  return html + "</svg></div>" + legend(chart, top) + "<p class=\"how\">" + escape(chart.how) +
         "</p></figure>\n";
}

nlohmann::json to_json(const Chart& chart) {
  static constexpr std::array units{"bytes", "rate", "threads"};
  auto layers = nlohmann::json::array();
  for (const auto& layer : chart.layers)
    layers.push_back(
        {{"name", shorten(layer.name)}, {"colour", layer.colour}, {"values", packed(layer.values)}});
  return {{"unit", units.at(static_cast<std::size_t>(chart.unit))},
          {"top", top_of(chart, 1)},
          {"layers", std::move(layers)},
          {"highest", packed(chart.highest)}};
}

}  // namespace tier::tool::report
