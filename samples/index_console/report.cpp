// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include <fmt/format.h>
#include <tier/core/bytes.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/runs_json.hpp"
#include "terminal/text_table.hpp"

namespace pmr_index {
namespace {

using Json = nlohmann::ordered_json;

std::string memory(const RunResult& run) {
  std::string text;
  for (const auto& [tier, bytes] : run.memory)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", tier, tier::to_human(tier::Bytes{bytes}));
  return text;
}

std::string faults(const Faults& faults) {
  return fmt::format("{} / {} / {}", faults.minor, faults.major, faults.window);
}

tier::tool::TextRow to_row(const RunResult& run, const RunResult* plain) {
  const auto ratio = [&](double ours, double theirs) {
    return plain == nullptr ? std::string{"-"} : fmt::format("{:.3f}", ours / theirs);
  };
  return {run.name,
          fmt::format("{:.2f} s", run.build_s),
          fmt::format("{:.0f}", run.queries_per_s),
          ratio(run.queries_per_s, plain == nullptr ? 1 : plain->queries_per_s),
          memory(run),
          faults(run.building),
          faults(run.asking),
          fmt::format("{:016x}", run.checksum)};
}

Json to_json(const Faults& faults) {
  return {{"minor", faults.minor}, {"major", faults.major}, {"window", faults.window}};
}

Faults faults_from(const Json& json) {
  return {.minor = json.at("minor"), .major = json.at("major"), .window = json.at("window")};
}

Json to_json(const RunResult& run) {
  Json json{{"name", run.name},
            {"build_s", run.build_s},
            {"queries_per_s", run.queries_per_s},
            {"checksum", fmt::format("{:016x}", run.checksum)},
            {"words", run.words},
            {"documents", run.documents},
            {"queries", run.queries},
            {"build_faults", to_json(run.building)},
            {"query_faults", to_json(run.asking)},
            {"memory", Json(run.memory)},
            {"bytes_moved", Json(run.bytes_moved)},
            {"metadata_bytes", run.metadata_bytes},
            {"container_bytes", run.container_bytes},
            {"peak_bytes", run.peak_bytes},
            {"mappings", run.mappings}};
  for (const auto& other : run.others) json["repeats"].push_back(to_json(other));
  for (const auto& variant : run.variants) json["variants"].push_back(to_json(variant));
  return json;
}

RunResult run_from(const Json& json) {
  RunResult run;
  run.name = json.at("name");
  run.build_s = json.at("build_s");
  run.queries_per_s = json.at("queries_per_s");
  run.checksum = std::stoull(json.at("checksum").get<std::string>(), nullptr, 16);
  run.words = json.at("words");
  run.documents = json.at("documents");
  run.queries = json.at("queries");
  run.building = faults_from(json.at("build_faults"));
  run.asking = faults_from(json.at("query_faults"));
  json.at("memory").get_to(run.memory);
  json.at("bytes_moved").get_to(run.bytes_moved);
  run.metadata_bytes = json.at("metadata_bytes");
  run.container_bytes = json.at("container_bytes");
  run.peak_bytes = json.at("peak_bytes");
  run.mappings = json.at("mappings");
  return run;
}

}  // namespace

RunResult median(std::vector<RunResult> runs) {
  auto by_speed = runs;
  const auto middle = by_speed.begin() + static_cast<std::ptrdiff_t>(by_speed.size() / 2);
  std::ranges::nth_element(by_speed, middle, {}, &RunResult::queries_per_s);
  auto result = std::move(*middle);
  if (runs.size() > 1) result.others = std::move(runs);
  return result;
}

std::string to_table(std::span<const RunResult> runs) {
  const auto plain = std::ranges::find(runs, "std", &RunResult::name);
  const auto* const std_run = plain == runs.end() ? nullptr : &*plain;
  std::vector<tier::tool::TextRow> rows{
      {"run", "build", "queries/s", "of std's", "memory", "faults building*", "faults asking*", "checksum"}};
  for (const auto& run : runs) {
    rows.push_back(to_row(run, std_run));
    for (const auto& variant : run.variants) {
      rows.push_back(to_row(variant, std_run));
      rows.back().front().insert(0, "  ");
    }
  }
  return tier::tool::to_lines(rows) +
         "* page faults, minor / major, as the system counts them; and faults of windows\n";
}

std::string to_json(std::span<const RunResult> runs) {
  return sample::runs_to_text(runs, [](const RunResult& run) { return to_json(run); });
}

std::vector<RunResult> from_json(std::string_view text) {
  return sample::runs_from_text<RunResult>(text, run_from);
}

}  // namespace pmr_index
