// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/recording_settings.hpp"

#include <tier/core/spec_text.hpp>
#include <tier/trace/names.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <map>

#include "trace/characters.hpp"

namespace tier::trace {
namespace {

std::string text_of(double number) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

std::vector<std::string> tier_names(Manager& manager) {
  std::vector<std::string> names;
  std::map<std::string, int> seen;
  for (std::size_t t = 0; t < manager.tier_count(); ++t) {
    const auto name = tier_in_lines(manager.tier(static_cast<TierIndex>(t)).name());
    const int count = ++seen[name];
    names.push_back(count == 1 ? name : name + "#" + std::to_string(count));
  }
  return names;
}

std::string spec_of(Manager& manager) {
  std::string spec;
  for (std::size_t t = 0; t < manager.tier_count(); ++t) {
    const auto& tier = manager.tier(static_cast<TierIndex>(t));
    if (t > 0) spec += ';';
    spec.append(tier.name());
    if (!tier.path().empty()) spec.append(":").append(tier::detail::escaped(tier.path(), ":;"));
    spec.append(":").append(to_string(tier.capacity()));
  }
  return spec;
}

}  // namespace

RecordingSettings settings_of(Manager& manager, const RecorderOptions& options) {
  RecordingSettings all{tier_names(manager), {}};
  const auto add = [&](std::string key, std::string value) {
    all.settings.emplace_back(std::move(key), std::move(value));
  };
  add("tiers", as_last_text(spec_of(manager)));
  if (!options.policy.empty()) add("policy", as_last_text(options.policy));
  for (std::size_t t = 0; t < all.tiers.size(); ++t) {
    const auto& model = manager.tier(static_cast<TierIndex>(t)).model();
    add("model." + all.tiers[t],
        text_of(model.read_bytes_per_second) + "," + text_of(model.write_bytes_per_second) + "," +
            std::to_string(model.latency.count()) + "," + std::to_string(model.parallelism));
  }
  add("overlap", options.asynchronous ? "async" : "sync");
  add("clock", "steady");
  return all;
}

}  // namespace tier::trace
