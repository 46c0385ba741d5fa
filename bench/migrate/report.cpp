// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include <fmt/format.h>
#include <tier/core/config.hpp>
#include <tier/core/detail/json_text.hpp>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "machine/machine_text.hpp"

namespace migrate {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view compiler = __VERSION__;

std::string cpu() {
  std::ifstream file{"/proc/cpuinfo"};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(std::min(line.find(": ") + 2, line.size()));
  return "unknown";
}

std::string_view words_of(tier::PageKind pages) { return pages == tier::PageKind::Huge ? "huge" : "small"; }

bool is_measured(const WayResult& way) { return !way.there.seconds.empty() && way.why_not.empty(); }

/// Returns 0 if the copy was not measured.
double seconds_of_copy(const ObjectResult& result) {
  for (const auto& way : result.ways)
    if (way.name == "plain copy" && is_measured(way)) return way.both();
  return 0;
}

double rate(const Object& object, double seconds) {
  return seconds > 0 ? static_cast<double>(object.size.count) / seconds : 0;
}

std::string line_of(const WayResult& way, const ObjectResult& result) {
  if (!is_measured(way)) return fmt::format("  {:<18}not measured: {}\n", way.name, way.why_not);
  const double copy = seconds_of_copy(result);
  const auto ratio = copy > 0 ? fmt::format("{:.2f}", way.both() / copy) : "-";
  auto text = fmt::format("  {:<18}{:>11.4f}{:>8.2f}{:>11.4f}{:>8.2f}{:>9.2f}{:>9.2f}{:>8}{:>7.0f} %",
                          way.name, way.there.median() * 1e3, way.there.spread(), way.back.median() * 1e3,
                          way.back.spread(), rate(result.object, way.there.median()) * 1e-9,
                          rate(result.object, way.back.median()) * 1e-9, ratio,
                          100.0 * static_cast<double>(std::min(way.huge, result.object.size).count) /
                              static_cast<double>(result.object.size.count));
  if (way.besides.count > 0) text += ", and up to " + to_human(way.besides) + " of its process";
  text += '\n';
  if (way.wrong > 0) text += fmt::format("  WRONG: {} words are not as they were\n", way.wrong);
  if (way.elsewhere > 0)
    text += fmt::format("  WRONG: of {} pages, {} are elsewhere\n", way.pages, way.elsewhere);
  return text;
}

std::string text_of(const ObjectResult& result) {
  auto text = fmt::format("\n{}, {} pages\n", to_human(result.object.size), words_of(result.object.pages));
  if (!result.why_not.empty()) return text + "  not measured: " + result.why_not + "\n";
  text += fmt::format("  {:<18}{:>11}{:>8}{:>11}{:>8}{:>9}{:>9}{:>8}{:>9}\n", "", "there, ms", "spread",
                      "back, ms", "spread", "GB/s", "GB/s", "ratio", "huge");
  for (const auto& way : result.ways) text += line_of(way, result);
  return text;
}

Json json_of(const tier::bench::Timings& timings) {
  if (timings.seconds.empty()) return nullptr;
  return {{"median_s", timings.median()}, {"spread", timings.spread()}, {"seconds", timings.seconds}};
}

Json json_of(const WayResult& way, const ObjectResult& result) {
  Json json{{"way", way.name}};
  if (!is_measured(way)) {
    json["why_not"] = way.why_not;
    return json;
  }
  const double copy = seconds_of_copy(result);
  json["there"] = json_of(way.there);
  json["back"] = json_of(way.back);
  json["ratio_to_plain_copy"] = copy > 0 ? Json(way.both() / copy) : Json(nullptr);
  json["pages_asked"] = way.pages;
  json["pages_elsewhere"] = way.elsewhere;
  json["wrong_words"] = way.wrong;
  json["huge_bytes"] = std::min(way.huge, result.object.size).count;
  json["bytes_besides"] = way.besides.count;
  return json;
}

Json json_of(const ObjectResult& result) {
  Json json{{"size", result.object.size.count}, {"pages", words_of(result.object.pages)}};
  if (!result.why_not.empty()) json["why_not"] = result.why_not;
  json["ways"] = Json::array();
  for (const auto& way : result.ways) json["ways"].push_back(json_of(way, result));
  return json;
}

}  // namespace

std::string to_text(const Report& report) {
  auto text = tier::tool::machine_text(report.machine);
  text += fmt::format(
      "\nlibtier {}, compiled by {}; {}\n"
      "Objects move from node {} to node {} and back, {} times, in turns; medians, and spreads: half the "
      "distance\n"
      "between the quartiles, over the median. A ratio is to the plain copy, there and back. All memory is "
      "faulted in\n"
      "beforehand and given back afterwards; after each move data and places of pages are checked, "
      "untimed.\n",
      TIER_VERSION, compiler, cpu(), report.nodes.home, report.nodes.away, report.repeats);
  for (const auto& object : report.objects) text += text_of(object);
  return text;
}

std::string to_json(const Report& report) {
  Json json{{"version", TIER_VERSION},
            {"compiler", compiler},
            {"cpu", cpu()},
            {"machine", tier::tool::machine_json(report.machine)},
            {"from", report.nodes.home},
            {"to", report.nodes.away},
            {"repeats", report.repeats}};
  json["objects"] = Json::array();
  for (const auto& object : report.objects) json["objects"].push_back(json_of(object));
  return tier::detail::json_text(json) + "\n";
}

}  // namespace migrate
