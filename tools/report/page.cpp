// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "page.hpp"

#include <algorithm>
#include <tier/core/detail/json_text.hpp>

#include "embedded.hpp"
#include "format.hpp"

namespace tier::tool::report {
namespace {

/// Returns JSON in which no text can end the script element.
std::string in_script(const nlohmann::json& json) {
  std::string out;
  for (const char c : detail::json_text(json, -1)) switch (c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  return out;
}

/// Forbids loading anything, and any script but the page's own.
constexpr std::string_view policy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-tier-report'";

std::string bar(const Axis& axis) {
  std::string html = "<div class=\"bar\" hidden>";
  const auto button = [&](std::string_view action, std::string_view text, bool needs_zoom) {
    html += "<button type=\"button\" data-action=\"" + std::string{action} + "\"" +
            (needs_zoom ? " data-needs-zoom" : "") + ">" + std::string{text} + "</button>";
  };
  button("in", "Zoom in", false);
  button("out", "Zoom out", true);
  button("left", "Earlier", true);
  button("right", "Later", true);
  button("reset", "All", true);
  return html +
         "<span>Drag over a chart to zoom in, double-click for all; Ctrl + wheel zooms, Shift + wheel moves. "
         "All "
         "charts keep the same " +
         (axis.timed ? "time" : "kernels") + ".</span></div>\n";
}

}  // namespace

std::string Charts::add(const Chart& chart) {
  constexpr std::size_t most_marks = 100;
  std::span<const Time> marks = report_.iteration_ends;
  if (marks.size() > most_marks) marks = {};
  all_.push_back(to_json(chart));
  return to_figure(chart, report_.axis, all_.size() - 1, marks);
}

nlohmann::json Charts::json() const {
  const auto& axis = report_.axis;
  return {{"timed", axis.timed},
          {"begin", axis.begin},
          {"width", axis.width},
          {"bins", axis.bins},
          {"charts", all_}};
}

std::string to_html(const Report& report, std::string_view name) {
  Charts charts{report};
  std::string sections = occupancy_section(report, charts);
  sections += traffic_section(report, charts);
  sections += stall_section(report, charts);
  sections += object_section(report);
  sections += hint_section(report);
  sections += miss_section(report);
  sections += kernel_section(report);
  sections += setting_section(report);

  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"" +
      std::string{policy} +
      "\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Memory report: " +
      escape_name(name) + "</title>\n<style>\n";
  html.append(style_sheet).append("</style></head>\n<body><main>\n");
  html += header_section(report, name) + bar(report.axis) + sections;
  html +=
      "</main>\n<script type=\"application/json\" id=\"data\">" + in_script(charts.json()) + "</script>\n";
  html.append("<script nonce=\"tier-report\">\n").append(script).append("</script>\n</body></html>\n");
  return html;
}

}  // namespace tier::tool::report
