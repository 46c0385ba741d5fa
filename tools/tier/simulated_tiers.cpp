// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulated_tiers.hpp"

#include <tier/core/error.hpp>
#include <tier/replay/machine_file.hpp>

#include <algorithm>

namespace tier::tool {
namespace {

constexpr std::string_view prefix = "simulated:";  // which may be left out

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const auto name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

std::string every_device() {
  std::vector<std::string_view> names;
  for (const auto machine : replay::machine_names())
    for (const auto& device : replay::find_machine(machine)->devices)
      if (std::ranges::find(names, device.name) == names.end()) names.emplace_back(device.name);
  return joined(names);
}

}  // namespace

std::vector<replay::SimulatedTier> parse_simulated_tiers(std::string_view text) {
  std::vector<replay::SimulatedTier> tiers;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find(';', at), text.size());
    auto one = text.substr(at, end - at);
    auto begin = at;
    if (one.starts_with(prefix)) {
      one.remove_prefix(prefix.size());
      begin += prefix.size();
    }
    const auto colon = one.rfind(':');
    if (colon == std::string_view::npos || colon == 0)
      throw ConfigError{"a tier is a device and a size", text, begin, "DEVICE:SIZE, as optane:1300GB"};
    try {
      tiers.push_back({std::string{one.substr(0, colon)}, parse_bytes(one.substr(colon + 1))});
    } catch (const ConfigError&) {
      throw ConfigError{"not a size", text, begin + colon + 1, "a number and a unit, as 180GB or 64GiB"};
    }
    if (tiers.back().size == 0_B)
      throw ConfigError{"a tier needs a size above zero", text, begin + colon + 1};
    at = end + 1;
  }
  return tiers;
}

std::vector<std::string> parse_devices(std::string_view text) {
  std::vector<std::string> devices;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find(';', at), text.size());
    auto one = text.substr(at, end - at);
    if (one.starts_with(prefix)) one.remove_prefix(prefix.size());
    if (one.empty()) throw ConfigError{"a device is missing", text, at, "DEVICE;DEVICE, as dram;optane"};
    devices.emplace_back(one);
    at = end + 1;
  }
  return devices;
}

replay::Machine machine_for(const std::string& name, const std::vector<std::string>& devices) {
  if (name.find('/') != std::string::npos || name.ends_with(".json")) return replay::read_machine(name);
  if (!name.empty()) {
    if (const auto* const machine = replay::find_machine(name)) return *machine;
    throw ConfigError{"unknown machine", name, 0, joined(replay::machine_names()) + ", or a file"};
  }
  for (const auto each : replay::machine_names()) {
    const auto& machine = *replay::find_machine(each);
    if (std::ranges::all_of(devices, [&](const auto& d) { return machine.find(d) != nullptr; }))
      return machine;
  }
  for (const auto& d : devices) {
    const auto has = [&](std::string_view each) { return replay::find_machine(each)->find(d) != nullptr; };
    if (std::ranges::none_of(replay::machine_names(), has))
      throw ConfigError{"unknown device", d, 0, every_device()};
  }
  throw ConfigError{"no machine that is known has all of these devices; name one with --machine"};
}

replay::Machine machine_for(const std::string& name, const std::vector<replay::SimulatedTier>& tiers) {
  std::vector<std::string> devices;
  for (const auto& t : tiers) devices.push_back(t.device);
  return machine_for(name, devices);
}

}  // namespace tier::tool
