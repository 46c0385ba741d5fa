// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include <fmt/format.h>
#include <tier/core/bytes.hpp>

#include <cmath>

#include "common/runs_json.hpp"
#include "common/text_table.hpp"

namespace training {
namespace {

std::string number(const char* format, double value) {
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : "n/a";
}

std::string moved(const Traffic& traffic) {
  std::string text;
  for (const auto& [pair, count] : traffic.bytes_moved)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", pair, tier::to_human(tier::Bytes{count}));
  return text.empty() ? "nothing" : text;
}

std::string checksum(const RunResult& run) {
  return run.checksum ? fmt::format("{:016x}", *run.checksum) : "n/a";
}

/// Against plain; NaN where that is not among the runs.
double slowdown(const RunResult& run, std::span<const RunResult> runs) {
  if (runs.front().name != "plain") return std::numeric_limits<double>::quiet_NaN();
  return run.seconds_per_iteration / runs.front().seconds_per_iteration;
}

sample::TextRow to_row(const RunResult& run, std::span<const RunResult> runs) {
  const auto& traffic = run.traffic;
  return {run.name + (run.complete ? "" : " (interrupted)"),
          number("{:.4g} s", run.seconds_per_iteration),
          number("{:.3f}", slowdown(run, runs)),
          number("{:.4f}", run.loss),
          number("{:.4f}", run.accuracy),
          number("{:.2f} %", 100 * traffic.fast_share),
          moved(traffic),
          number("{:.2f} s", traffic.stalled_s),
          tier::to_human(tier::Bytes{traffic.peak_bytes}),
          checksum(run)};
}

}  // namespace

std::string to_table(std::span<const RunResult> runs) {
  std::vector<sample::TextRow> rows{{"run", "an iteration", "slow-down", "loss", "accuracy", "fast", "moved",
                                     "stalled", "peak", "checksum"}};
  for (const auto& run : runs) rows.push_back(to_row(run, runs));
  return sample::to_lines(rows);
}

std::string to_json(std::span<const RunResult> runs) {
  return sample::runs_to_text(runs, [&](const RunResult& run) {
    const auto& traffic = run.traffic;
    return nlohmann::ordered_json{{"name", run.name},
                                  {"seconds_per_iteration", run.seconds_per_iteration},
                                  {"slowdown", slowdown(run, runs)},
                                  {"fast_share", traffic.fast_share},
                                  {"bytes_moved", nlohmann::ordered_json(traffic.bytes_moved)},
                                  {"in_place_bytes", traffic.in_place_bytes},
                                  {"stalled_s", traffic.stalled_s},
                                  {"peak_bytes", traffic.peak_bytes},
                                  {"overhead_bytes", traffic.overhead_bytes},
                                  {"loss", run.loss},
                                  {"accuracy", run.accuracy},
                                  {"test_loss", run.test_loss},
                                  {"training_accuracy", run.training_accuracy},
                                  {"checksum", checksum(run)},
                                  {"complete", run.complete},
                                  {"iterations", run.iterations},
                                  {"learning_s", run.learning_s}};
  });
}

}  // namespace training
