// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/tiers_of.hpp"

#include <tier/core/error.hpp>
#include <tier/core/suggestion.hpp>

#include <algorithm>
#include <string>

namespace tier::replay {

std::vector<SimulatedTier> in_order(std::vector<SimulatedTier> tiers, const Machine& machine) {
  if (tiers.size() > max_tiers)
    throw ConfigError{"a replay has at most " + std::to_string(max_tiers) + " tiers, not " +
                      std::to_string(tiers.size())};
  for (const auto& t : tiers) {
    if (machine.find(t.device) == nullptr) {
      std::string known;
      for (const auto& d : machine.devices) known += (known.empty() ? "" : ", ") + d.name;
      throw ConfigError{
          "machine " + machine.name + " has no such device" + detail::did_you_mean(t.device, known), t.device,
          0, known};
    }
    if (std::ranges::count(tiers, t.device, &SimulatedTier::device) > 1)
      throw ConfigError{"device " + t.device +
                        " is given for two tiers; a replay needs another device for each tier"};
  }
  std::ranges::stable_sort(tiers, is_faster,
                           [&](const SimulatedTier& t) { return machine.find(t.device)->tier_model(); });
  return tiers;
}

std::vector<const Device*> devices_of(const std::vector<SimulatedTier>& tiers, const Machine& machine) {
  std::vector<const Device*> devices;
  devices.reserve(tiers.size());
  for (const auto& t : tiers) devices.push_back(machine.find(t.device));
  return devices;
}

}  // namespace tier::replay
