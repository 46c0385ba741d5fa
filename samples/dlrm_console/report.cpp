// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include <fmt/format.h>
#include <tier/core/bytes.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/runs_json.hpp"
#include "terminal/text_table.hpp"

namespace dlrm {
namespace {

using Row = tier::tool::TextRow;
using Json = nlohmann::ordered_json;

constexpr const char* no_checksum = "n/a";

std::string number(const char* format, double value) {
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : "n/a";
}

std::string moved(const Traffic& traffic) {
  std::string text;
  for (const auto& [pair, count] : traffic.bytes_moved) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", pair, tier::to_human(tier::Bytes{count}));
  }
  return text.empty() ? "nothing" : text;
}

std::string checksum(const RunResult& run) {
  return run.checksum ? fmt::format("{:016x}", *run.checksum) : no_checksum;
}

Row to_row(const RunResult& run) {
  const auto* part = run.complete ? "" : run.out_of_time ? " (in part)" : " (interrupted)";
  return {run.name + part,
          number("{:.0f}", run.samples_per_s),
          number("{:.4f}", run.auc),
          number("{:.4f}", run.log_loss),
          number("{:.2f} %", 100 * run.traffic.fast_share),
          number("{:.2f} %", 100 * run.traffic.on_time_share),
          moved(run.traffic),
          number("{:.2f} s", run.traffic.stalled_s),
          number("{:.2f} %", 100 * run.stalled_share()),
          tier::to_human(tier::Bytes{run.traffic.peak_bytes}),
          checksum(run)};
}

void add_rows(const RunResult& run, std::vector<Row>& rows) {
  rows.push_back(to_row(run));
  for (const auto& variant : run.variants) {
    rows.push_back(to_row(variant));
    rows.back().front().insert(0, "  ");
  }
}

Json to_json(const RunResult& run) {
  Json json{{"name", run.name},
            {"fast", run.fast},
            {"share", run.share},
            {"samples_per_s", run.samples_per_s},
            {"auc", run.auc},
            {"log_loss", run.log_loss},
            {"fast_share", run.traffic.fast_share},
            {"on_time_share", run.traffic.on_time_share},
            {"bytes_moved", Json(run.traffic.bytes_moved)},
            {"memory", Json(run.traffic.memory)},
            {"in_place_bytes", run.traffic.in_place_bytes},
            {"read_amplification", run.traffic.read_amplification},
            {"bytes_per_written_row", run.traffic.bytes_per_written_row},
            {"stalled_s", run.traffic.stalled_s},
            {"stalled_share", run.stalled_share()},
            {"peak_bytes", run.traffic.peak_bytes},
            {"overhead_bytes", run.traffic.overhead_bytes},
            {"checksum", checksum(run)},
            {"complete", run.complete},
            {"out_of_time", run.out_of_time},
            {"samples", run.samples},
            {"learning_s", run.learning_s},
            {"threads", run.threads},
            {"input_s", run.input_s},
            {"train_loss", run.train_loss}};
  for (const auto& [table, rows, slots, bytes] : run.traffic.shares)
    json["shares"].push_back({{"table", table}, {"rows", rows}, {"slots", slots}, {"bytes", bytes}});
  for (const auto& variant : run.variants) json["variants"].push_back(to_json(variant));
  return json;
}

double number(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

RunResult run_from(const Json& json) {
  RunResult run;
  run.name = json.at("name");
  run.fast = json.at("fast");
  run.share = json.at("share");
  run.samples_per_s = number(json.at("samples_per_s"));
  run.auc = number(json.at("auc"));
  run.log_loss = number(json.at("log_loss"));
  run.traffic.fast_share = number(json.at("fast_share"));
  run.traffic.on_time_share = number(json.at("on_time_share"));
  json.at("bytes_moved").get_to(run.traffic.bytes_moved);
  json.at("memory").get_to(run.traffic.memory);
  run.traffic.in_place_bytes = json.at("in_place_bytes");
  run.traffic.read_amplification = number(json.at("read_amplification"));
  run.traffic.bytes_per_written_row = number(json.at("bytes_per_written_row"));
  run.traffic.stalled_s = number(json.at("stalled_s"));
  run.traffic.peak_bytes = json.at("peak_bytes");
  run.traffic.overhead_bytes = json.at("overhead_bytes");
  const std::string sum = json.at("checksum");
  if (sum != no_checksum) run.checksum = std::stoull(sum, nullptr, 16);
  run.complete = json.at("complete");
  run.out_of_time = json.at("out_of_time");
  run.samples = json.at("samples");
  run.learning_s = number(json.at("learning_s"));
  run.threads = json.at("threads");
  run.input_s = number(json.at("input_s"));
  run.train_loss = number(json.at("train_loss"));
  if (json.contains("shares")) {
    for (const auto& share : json.at("shares"))
      run.traffic.shares.push_back(
          {share.at("table"), share.at("rows"), share.at("slots"), share.at("bytes")});
  }
  if (json.contains("variants")) {
    for (const auto& variant : json.at("variants")) run.variants.push_back(run_from(variant));
  }
  return run;
}

}  // namespace

std::string to_table(std::span<const RunResult> runs) {
  std::vector<Row> rows{{"run", "samples/s", "AUC", "log loss", "fast", "on time", "moved", "stalled",
                         "stalled share", "peak", "checksum"}};
  for (const auto& run : runs) add_rows(run, rows);
  return tier::tool::to_lines(rows);
}

std::string to_shares(std::span<const RunResult> runs) {
  std::string text;
  for (const auto& run : runs) {
    const auto& shares = run.traffic.shares;
    if (shares.empty()) continue;
    text += fmt::format("{}, {} fast by {}:", run.name, run.fast, run.share);
    for (const auto& [table, rows, slots, bytes] : shares) {
      text += fmt::format(" {} {} ({:.3g} %),", table, tier::to_human(tier::Bytes{bytes}),
                          100.0 * static_cast<double>(slots) / static_cast<double>(rows));
    }
    text.back() = '\n';
  }
  return text;
}

std::string to_json(std::span<const RunResult> runs) {
  return sample::runs_to_text(runs, [](const RunResult& run) { return to_json(run); });
}

std::vector<RunResult> from_json(std::string_view text) {
  return sample::runs_from_text<RunResult>(text, run_from);
}

}  // namespace dlrm
