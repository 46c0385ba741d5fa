// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include <fmt/format.h>
#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

namespace dlrm {
namespace {

using Row = std::vector<std::string>;

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

Row to_row(const RunResult& run) {
  return {run.name + (run.complete ? "" : " (interrupted)"),
          number("{:.0f}", run.samples_per_s),
          number("{:.4f}", run.auc),
          number("{:.4f}", run.log_loss),
          number("{:.2f} %", 100 * run.traffic.fast_share),
          number("{:.2f} %", 100 * run.traffic.on_time_share),
          moved(run.traffic),
          number("{:.2f} s", run.traffic.stalled_s),
          number("{:.2f} %", 100 * run.stalled_share()),
          tier::to_human(tier::Bytes{run.traffic.peak_bytes}),
          fmt::format("{:016x}", run.checksum)};
}

}  // namespace

double RunResult::stalled_share() const {
  const double all = static_cast<double>(threads) * learning_s;
  return all > 0 ? traffic.stalled_s / all : 0;
}

std::string to_table(std::span<const RunResult> runs) {
  std::vector<Row> rows{{"run", "samples/s", "AUC", "log loss", "fast", "on time", "moved", "stalled",
                         "stalled share", "peak", "checksum"}};
  for (const auto& run : runs) rows.push_back(to_row(run));
  std::string text;
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string to_json(std::span<const RunResult> runs) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& run : runs) {
    list.push_back({{"name", run.name},
                    {"samples_per_s", run.samples_per_s},
                    {"auc", run.auc},
                    {"log_loss", run.log_loss},
                    {"fast_share", run.traffic.fast_share},
                    {"on_time_share", run.traffic.on_time_share},
                    {"bytes_moved", nlohmann::ordered_json(run.traffic.bytes_moved)},
                    {"stalled_s", run.traffic.stalled_s},
                    {"stalled_share", run.stalled_share()},
                    {"peak_bytes", run.traffic.peak_bytes},
                    {"overhead_bytes", run.traffic.overhead_bytes},
                    {"checksum", fmt::format("{:016x}", run.checksum)},
                    {"complete", run.complete},
                    {"samples", run.samples},
                    {"input_s", run.input_s},
                    {"train_loss", run.train_loss}});
  }
  nlohmann::ordered_json document;
  document["runs"] = std::move(list);
  return document.dump(2) + '\n';
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file{path, std::ios::binary};
  file << text;
  file.close();
  if (!file) throw tier::TierError{tier::last_system_error(), fmt::format("writing \"{}\"", path.string())};
}

}  // namespace dlrm
