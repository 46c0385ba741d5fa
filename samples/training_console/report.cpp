// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include <fmt/format.h>
#include <tier/core/bytes.hpp>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/runs_json.hpp"
#include "terminal/text_table.hpp"

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

std::string peaks(const Traffic& traffic) {
  std::string text;
  for (const auto& [name, bytes, overhead] : traffic.peaks)
    text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", name, tier::to_human(tier::Bytes{bytes}),
                        tier::to_human(tier::Bytes{overhead}));
  return text;
}

const char* bound(const RunResult& run) {
  constexpr std::array names{"compute", "io", "neither", "n/a"};
  return names.at(static_cast<std::size_t>(bound_of(run)));
}

constexpr const char* no_checksum = "n/a";
std::string checksum(const RunResult& run) {
  return run.checksum ? fmt::format("{:016x}", *run.checksum) : no_checksum;
}

double slowdown(const RunResult& run, std::span<const RunResult> runs) {
  return slowdown_of(run, runs.front().name == "plain" ? &runs.front() : nullptr);
}

/// Returns the time of an iteration to which the slow-down is a ratio.
double compared_with(const RunResult& run, std::span<const RunResult> runs) {
  return run.seconds_per_iteration / slowdown(run, runs);
}

std::string on_time(const Operands& operands) {
  return number("{:.1f}", 100 * operands.on_time_share()) +
         number(", {:.1f} %", 100 * operands.on_time_share_of_bytes());
}

tier::tool::TextRow to_row(const RunResult& run, std::span<const RunResult> runs) {
  const auto& traffic = run.traffic;
  return {run.name + (run.complete ? "" : " (interrupted)"),
          run.fast,
          number("{:.4g} s", run.seconds_per_iteration),
          number("{:.4g}", run.low_seconds) + number(" to {:.4g} s", run.high_seconds),
          number("{:.4g} s", compared_with(run, runs)),
          number("{:.3f}", slowdown(run, runs)),
          number("{:.4f}", run.loss),
          number("{:.4f}", run.accuracy),
          number("{:.2f} %", 100 * traffic.operands.fast_share()),
          number("{:.2f} %", 100 * traffic.operands.on_time_share_of_bytes()),
          number("{:.2f} %", 100 * traffic.operands.on_time_share()),
          moved(traffic),
          number("{:.2f} s", traffic.stalled_s),
          number("{:.2f} s", run.compute_s),
          number("{:.2f} s", traffic.moving_s),
          bound(run),
          peaks(traffic),
          checksum(run)};
}

nlohmann::ordered_json locality(const std::vector<Operands>& operands) {
  auto list = nlohmann::ordered_json::array();
  for (std::size_t step = 0; step < operands.size(); ++step)
    list.push_back({step, operands[step].on_time_share(), operands[step].on_time_share_of_bytes()});
  return list;
}

nlohmann::ordered_json tiers(const std::vector<TierPeak>& peaks) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& [name, bytes, overhead] : peaks)
    list.push_back({{"name", name}, {"peak_bytes", bytes}, {"overhead_bytes", overhead}});
  return list;
}

nlohmann::ordered_json run_to_json(const RunResult& run, std::span<const RunResult> runs) {
  const auto& traffic = run.traffic;
  nlohmann::ordered_json json{{"name", run.name},
                              {"fast", run.fast},
                              {"fast_bytes", run.fast_bytes},
                              {"seconds_per_iteration", run.seconds_per_iteration},
                              {"low_seconds", run.low_seconds},
                              {"high_seconds", run.high_seconds},
                              {"plain_seconds_per_iteration", run.plain_seconds_per_iteration},
                              {"slowdown", slowdown(run, runs)},
                              {"fast_share", traffic.operands.fast_share()},
                              {"on_time_share", traffic.operands.on_time_share_of_bytes()},
                              {"on_time_share_by_object", traffic.operands.on_time_share()},
                              {"locality", locality(run.operands)},
                              {"bytes_moved", nlohmann::ordered_json(traffic.bytes_moved)},
                              {"bytes_in", traffic.bytes_in},
                              {"bytes_out", traffic.bytes_out},
                              {"in_place_bytes", traffic.in_place_bytes},
                              {"stalled_s", traffic.stalled_s},
                              {"compute_s", run.compute_s},
                              {"io_s", traffic.moving_s},
                              {"bound", bound(run)},
                              {"tiers", tiers(traffic.peaks)},
                              {"peak_bytes", traffic.peak_bytes()},
                              {"overhead_bytes", traffic.overhead_bytes()},
                              {"loss", run.loss},
                              {"accuracy", run.accuracy},
                              {"test_loss", run.test_loss},
                              {"training_accuracy", run.training_accuracy},
                              {"checksum", checksum(run)},
                              {"complete", run.complete},
                              {"iterations", run.iterations},
                              {"learning_s", run.learning_s}};
  for (const auto& layer : run.layers)
    json["layers"].push_back({{"layer", layer.layer},
                              {"seconds", layer.seconds},
                              {"stalled_s", layer.stalled_s},
                              {"bytes_in", layer.bytes_in},
                              {"bytes_out", layer.bytes_out}});
  if (run.subnormals) json["subnormals"] = *run.subnormals;
  for (const auto& variant : run.variants) json["variants"].push_back(run_to_json(variant, runs));
  return json;
}

/// Reads a number; null stands for a value that is not finite.
double number(const nlohmann::ordered_json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

/// Shares are stored as counts of a million, which is finer than what is shown.
constexpr std::uint64_t million = 1'000'000;
std::uint64_t count_without(double share) {
  return static_cast<std::uint64_t>(std::lround((1 - share) * static_cast<double>(million)));
}
Operands operands_from(const nlohmann::ordered_json& by_object, const nlohmann::ordered_json& by_bytes) {
  Operands operands{.count = million,
                    .bytes = million,
                    .elsewhere = {},
                    .bytes_elsewhere = count_without(number(by_bytes))};
  if (!by_object.is_null()) operands.elsewhere = count_without(number(by_object));
  return operands;
}

LayerCost layer_from(const nlohmann::ordered_json& json) {
  return {json.at("layer").get<std::string>(), number(json.at("seconds")), number(json.at("stalled_s")),
          json.at("bytes_in").get<std::uint64_t>(), json.at("bytes_out").get<std::uint64_t>()};
}

RunResult run_from(const nlohmann::ordered_json& json) {
  RunResult run;
  run.name = json.at("name");
  run.fast = json.at("fast");
  run.fast_bytes = json.at("fast_bytes");
  run.seconds_per_iteration = number(json.at("seconds_per_iteration"));
  run.low_seconds = number(json.at("low_seconds"));
  run.high_seconds = number(json.at("high_seconds"));
  run.plain_seconds_per_iteration = number(json.at("plain_seconds_per_iteration"));
  run.traffic.operands = operands_from(json.at("on_time_share_by_object"), json.at("on_time_share"));
  run.traffic.operands.bytes_brought = count_without(number(json.at("fast_share")));
  for (const auto& step : json.at("locality")) run.operands.push_back(operands_from(step.at(1), step.at(2)));
  json.at("bytes_moved").get_to(run.traffic.bytes_moved);
  run.traffic.bytes_in = json.at("bytes_in");
  run.traffic.bytes_out = json.at("bytes_out");
  run.traffic.in_place_bytes = json.at("in_place_bytes");
  run.traffic.stalled_s = number(json.at("stalled_s"));
  run.compute_s = number(json.at("compute_s"));
  run.traffic.moving_s = number(json.at("io_s"));
  for (const auto& tier : json.at("tiers"))
    run.traffic.peaks.push_back({tier.at("name").get<std::string>(),
                                 tier.at("peak_bytes").get<std::uint64_t>(),
                                 tier.at("overhead_bytes").get<std::uint64_t>()});
  run.loss = number(json.at("loss"));
  run.accuracy = number(json.at("accuracy"));
  run.test_loss = number(json.at("test_loss"));
  run.training_accuracy = number(json.at("training_accuracy"));
  if (json.contains("layers"))
    for (const auto& layer : json.at("layers")) run.layers.push_back(layer_from(layer));
  if (json.contains("subnormals")) run.subnormals = json.at("subnormals").get<std::uint64_t>();
  const std::string sum = json.at("checksum");
  if (sum != no_checksum) run.checksum = std::stoull(sum, nullptr, 16);
  run.complete = json.at("complete");
  run.iterations = json.at("iterations");
  run.learning_s = number(json.at("learning_s"));
  return run;
}

}  // namespace

std::string to_table(std::span<const RunResult> runs) {
  std::vector<tier::tool::TextRow> rows{{"run", "fast", "an iteration", "half of them", "plain beside it",
                                         "slow-down", "loss", "accuracy", "fast bytes", "bytes on time",
                                         "objects on time", "moved", "stalled", "computed", "moving", "bound",
                                         "peak (overhead)", "checksum"}};
  for (const auto& run : runs) {
    rows.push_back(to_row(run, runs));
    for (const auto& variant : run.variants) rows.push_back(to_row(variant, runs));
  }
  return tier::tool::to_lines(rows);
}

std::string to_locality(std::span<const RunResult> runs) {
  constexpr std::size_t most = 6;  // columns
  std::size_t iterations = 0;
  for (const auto& run : runs) iterations = std::max(iterations, run.operands.size());
  if (iterations < 2) return {};
  const auto shown = std::min(iterations, most);
  const auto at = [&](std::size_t column) { return column * (iterations - 1) / (shown - 1); };
  std::vector<tier::tool::TextRow> rows{{"on time: objects, bytes"}};
  for (std::size_t i = 0; i < shown; ++i) rows.front().push_back(fmt::format("iteration {}", at(i) + 1));
  for (const auto& run : runs) {
    tier::tool::TextRow row{run.name};
    for (std::size_t i = 0; i < shown; ++i)
      row.push_back(at(i) < run.operands.size() ? on_time(run.operands[at(i)]) : "n/a");
    rows.push_back(std::move(row));
  }
  return tier::tool::to_lines(rows);
}

std::string to_inspections(std::span<const RunResult> runs) {
  std::string text;
  for (const auto& run : runs) {
    text += to_inspections(run.variants);  // this run is one of its variants
    if (!run.variants.empty()) continue;
    if (run.subnormals) text += fmt::format("{}: {} subnormal values written\n", run.name, *run.subnormals);
    if (run.layers.empty()) continue;
    std::vector<tier::tool::TextRow> rows{{run.name, "time", "stalled", "moved in", "moved out"}};
    for (const auto& layer : run.layers)
      rows.push_back({layer.layer, number("{:.4f} s", layer.seconds), number("{:.4f} s", layer.stalled_s),
                      tier::to_human(tier::Bytes{layer.bytes_in}),
                      tier::to_human(tier::Bytes{layer.bytes_out})});
    text += '\n' + tier::tool::to_lines(rows);
  }
  return text;
}

std::string to_json(std::span<const RunResult> runs) {
  return sample::runs_to_text(runs, [&](const RunResult& run) { return run_to_json(run, runs); });
}

std::vector<RunResult> from_json(std::string_view text) {
  return sample::runs_from_text<RunResult>(text, run_from);
}

}  // namespace training
