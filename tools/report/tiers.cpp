// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tiers.hpp"

#include <tier/core/error.hpp>
#include <tier/memory/spec.hpp>
#include <tier/trace/names.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ranges>

namespace tier::tool::report {
namespace {

constexpr std::string_view nowhere = "?";  // the place of an operand without bytes

/// Returns the name of a tier in lines: `dram`, `file`, `emulated:cxl`, `numa:0.2`.
std::string name_of(const TierSpec& spec) {
  const auto text = to_string(spec);
  auto name = text.substr(0, text.find(':'));
  if (!spec.nodes.empty()) name += ":" + spec.nodes;
  if (!spec.model.empty()) name += ":" + spec.model;
  return trace::tier_in_lines(name);
}

template <class Function>
void for_each_part(std::string_view text, char delimiter, Function function) {
  for (const auto part : std::views::split(text, delimiter))
    function(std::string_view{part.begin(), part.end()});
}

/// Parses `READ,WRITE,LATENCY,PARALLELISM`, in B/s and ns. \return  none if no tier can have these values
std::optional<TierModel> parse_model(const std::string& text) {
  TierModel model;
  constexpr long long longest = 1'000'000'000'000'000;  // the same limit as for a machine's devices
  long long latency = 0;
  int end = 0;
  const int found = std::sscanf(text.c_str(), "%lf,%lf,%lld,%u%n", &model.read_bytes_per_second,
                                &model.write_bytes_per_second, &latency, &model.parallelism, &end);
  const bool usable = model.read_bytes_per_second > 0 && model.write_bytes_per_second > 0 &&
                      std::isfinite(model.read_bytes_per_second + model.write_bytes_per_second) &&
                      latency >= 0 && latency <= longest && model.parallelism > 0;
  if (found != 4 || static_cast<std::size_t>(end) != text.size() || !usable) return {};
  model.latency = std::chrono::nanoseconds{latency};
  return model;
}

}  // namespace

Tiers::Tiers(const trace::Trace& trace) : trace_{trace} {
  using enum trace::EventKind;
  for (const auto event : trace.events()) {
    if (event.kind != Setting || trace.name(trace.setting(event).key) != "tiers") continue;
    configure(trace.name(trace.setting(event).value));
    break;
  }
  read_models();
  const auto name = [&](trace::NameIndex tier) {
    if (!by_name_.contains(tier)) by_name_.emplace(tier, add(trace.name(tier)));
  };
  for (const auto event : trace.events()) {
    if (event.kind == Migration) {
      name(trace.migration(event).from);
      name(trace.migration(event).to);
    } else if (event.kind == Placement) {
      name(trace.placement(event).tier);
    } else if (event.kind == Measurement) {
      const auto text = trace.measurement(event).placement;
      if (placements_.contains(text) || trace.name(text) == "-" || trace.name(text).empty()) continue;
      placements_.emplace(text, std::vector<TierNumber>{});
      for_each_part(trace.name(text), ',', [&](auto operand) {
        if (operand != nowhere) for_each_part(operand, '+', [&](auto tier) { add(tier); });
      });
    }
  }
  placements_.clear();  // these entries only marked what was read
}

void Tiers::configure(std::string_view specs) {
  std::vector<TierSpec> parsed;
  try {
    parsed = parse_tiers(specs);
  } catch (const ConfigError&) {
    return;  // another version's or program's: the order of its tiers is unknown
  }
  std::unordered_map<std::string, int> seen;
  for (const auto& spec : parsed) {
    auto name = name_of(spec);
    if (const auto nth = ++seen[name]; nth > 1) name += "#" + std::to_string(nth);
    const auto number = add(name);
    all_[number].spec = to_string(spec);
    all_[number].capacity = spec.size;
  }
  configured_ = all_.size();
}

void Tiers::read_models() {
  constexpr std::string_view key = "model.";
  for (const auto event : trace_.events()) {
    if (event.kind != trace::EventKind::Setting) continue;
    const auto& setting = trace_.setting(event);
    const auto name = trace_.name(setting.key);
    if (!name.starts_with(key)) continue;
    const auto tier = std::ranges::find(all_, name.substr(key.size()), &TierOfTrace::name);
    if (tier == all_.end()) continue;
    const std::string text{trace_.name(setting.value)};
    tier->model = parse_model(text);
    tier->no_model = tier->model ? "" : text;
  }
}

TierNumber Tiers::add(std::string_view name) {
  const auto [place, added] = by_text_.try_emplace(std::string{name}, static_cast<TierNumber>(all_.size()));
  if (added) all_.push_back({std::string{name}, "", {}});
  return place->second;
}

TierNumber Tiers::number(trace::NameIndex name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? unknown : found->second;
}

bool Tiers::is_faster(TierNumber to, TierNumber from) const noexcept {
  return to < configured_ && from < configured_ && to < from;
}

std::vector<TierNumber> Tiers::read_placement(std::string_view text) const {
  std::vector<TierNumber> tiers;
  if (text == "-" || text.empty()) return tiers;
  for_each_part(text, ',', [&](std::string_view operand) {
    if (operand.find('+') != std::string_view::npos) return tiers.push_back(several);
    if (operand.empty() || operand == nowhere) return tiers.push_back(unknown);
    tiers.push_back(by_text_.at(std::string{operand}));
  });
  return tiers;
}

std::span<const TierNumber> Tiers::placement(const trace::Measurement& measurement) const {
  const auto found = placements_.find(measurement.placement);
  if (found != placements_.end()) return found->second;
  return placements_.emplace(measurement.placement, read_placement(trace_.name(measurement.placement)))
      .first->second;
}

}  // namespace tier::tool::report
