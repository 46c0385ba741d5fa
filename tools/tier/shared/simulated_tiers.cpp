// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "simulated_tiers.hpp"

#include <tier/core/error.hpp>
#include <tier/core/suggestion.hpp>
#include <tier/memory/tiers.hpp>
#include <tier/replay/machine_file.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "report/tiers.hpp"

namespace tier::tool {
namespace {

constexpr std::string_view prefix = "simulated:";  // optional

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const auto name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

/// Returns a device with the rates of a tier model. Kernels, copies and movers get the same rates.
replay::Device device_of(std::string_view name, const TierModel& model, std::string source) {
  const double read = model.read_bytes_per_second, write = model.write_bytes_per_second;
  return {.name = std::string{name},
          .source = std::move(source),
          .read = read,
          .store = write,
          .copy_read = read,
          .copy_write = write,
          .mover_read = read,
          .mover_write = write,
          .latency = model.latency,
          .parallelism = model.parallelism,
          .link = {},
          .addressable = model.addressable,
          .persistent = model.persistent};
}

/// A known device, from the first machine that has it, or else from the models of tiers.
struct KnownDevice {
  const replay::Machine* machine = nullptr;  // null: a model
  replay::Device device;
};

std::optional<KnownDevice> find_device(const std::string& name,
                                       const std::vector<replay::Device>& recorded = {}) {
  const auto found = std::ranges::find(recorded, name, &replay::Device::name);
  if (found != recorded.end()) return KnownDevice{nullptr, *found};
  for (const auto each : replay::machine_names()) {
    const auto* const machine = replay::find_machine(each);
    if (const auto* const device = machine->find(name)) return KnownDevice{machine, *device};
  }
  if (const auto model = find_model(name))
    return KnownDevice{nullptr, device_of(name, *model, std::string{model_source(name)})};
  return {};
}

std::string every_device() {
  std::vector<std::string_view> names;
  const auto add = [&](std::string_view name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const auto machine : replay::machine_names())
    for (const auto& device : replay::find_machine(machine)->devices) add(device.name);
  for (const auto model : model_names()) add(model);
  return joined(names);
}

std::ptrdiff_t count_in(const replay::Machine& machine, const std::vector<std::string>& devices) {
  return std::ranges::count_if(devices, [&](const auto& d) { return machine.find(d) != nullptr; });
}

/// Returns the machine that has the most of these devices; the first of several.
const replay::Machine& best_machine(const std::vector<std::string>& devices, auto&& may_be) {
  const replay::Machine* best = nullptr;
  for (const auto name : replay::machine_names()) {
    const auto& machine = *replay::find_machine(name);
    if (may_be(machine) && (best == nullptr || count_in(machine, devices) > count_in(*best, devices)))
      best = &machine;
  }
  return *best;
}

/// Returns the machine that has the fastest of the devices, extended by the devices that it lacks.
replay::Machine composed(const std::vector<std::string>& devices,
                         const std::vector<replay::Device>& recorded) {
  std::vector<KnownDevice> known;
  for (const auto& name : devices) {
    auto device = find_device(name, recorded);
    if (!device)
      throw ConfigError{
          "unknown device" + detail::did_you_mean(name, every_device()), name, 0,
          every_device() + "; others are those of a machine that `tier probe` has measured: --machine FILE"};
    known.push_back(std::move(*device));
  }
  std::ranges::stable_sort(known, is_faster, [](const KnownDevice& k) { return k.device.tier_model(); });
  const auto with_machine = std::ranges::find_if(known, [](const auto& k) { return k.machine != nullptr; });
  auto machine = best_machine(devices, [&](const replay::Machine& m) {
    return with_machine == known.end() || m.find(with_machine->device.name) != nullptr;
  });
  std::string others;
  for (const auto& [from, device] : known) {
    if (machine.find(device.name) != nullptr) continue;
    machine.devices.push_back(device);
    others += (others.empty() ? " with " : ", ") + device.name + (from != nullptr ? " of " + from->name : "");
    if (from == nullptr) continue;
    for (const auto& slow_down : from->slow_downs)
      if (slow_down.device == device.name) machine.slow_downs.push_back(slow_down);
  }
  machine.name += others;
  return machine;
}

/// Returns a device with the rates that the tier had when the trace was recorded; none if the trace has none.
/// \throws  `ConfigError` if the recorded rates are not valid for a tier
std::optional<replay::Device> recorded_device(const report::TierOfTrace& tier) {
  if (!tier.no_model.empty())
    throw ConfigError{
        "the recording has no valid model of tier " + tier.name, tier.no_model, 0,
        "READ,WRITE,LATENCY,PARALLELISM: bytes a second above 0, 0 to 10^15 ns, and at least 1 request "
        "at once; or other devices, by --tiers"};
  if (!tier.model) return {};
  auto device = device_of(tier.name, *tier.model, "the recording");
  device.addressable = !tier.spec.starts_with("file");
  return device;
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

ChosenDevices two_devices(const trace::Trace& trace, const std::string& machine) {
  std::optional<replay::Machine> named;
  if (!machine.empty()) named = machine_for(machine, std::vector<std::string>{});
  const auto is_known = [&](const std::string& device) {
    return named ? named->find(device) != nullptr : find_device(device).has_value();
  };
  const report::Tiers recorded{trace};
  ChosenDevices chosen{{}, "which the recording has"};
  auto& names = chosen.names;
  for (std::size_t i = 0; i < 2 && i < recorded.count() && recorded.ranked(); ++i) {
    const auto& tier = recorded.all()[i];
    // A probed machine calls the device `emulated:cxl`; others call it `cxl`.
    for (const auto& name : {tier.name, tier.name.substr(tier.name.find(':') + 1)})
      if (names.size() == i && is_known(name) && std::ranges::find(names, name) == names.end())
        names.push_back(name);
    if (named || names.size() != i) continue;
    if (auto device = recorded_device(tier)) {
      chosen.recorded.push_back(std::move(*device));
      names.push_back(tier.name);
    }
  }
  if (names.size() == 2) return chosen;
  if (named && named->devices.size() >= 2)
    return {{named->devices[0].name, named->devices[1].name}, "which machine " + named->name + " has"};
  if (named)
    throw ConfigError{"machine " + named->name + " has fewer than the two devices that a plan needs", machine,
                      0};
  return {{"dram", "optane"}, "since the trace names no two that are known"};
}

replay::Machine machine_for(const std::string& name, const std::vector<std::string>& devices,
                            const std::vector<replay::Device>& recorded) {
  if (name == "-" || name.find('/') != std::string::npos || name.ends_with(".json"))
    return replay::read_machine(name);
  if (!name.empty()) {
    if (const auto* const machine = replay::find_machine(name)) return *machine;
    const auto known = joined(replay::machine_names());
    throw ConfigError{"unknown machine" + detail::did_you_mean(name, known), name, 0, known + ", or a file"};
  }
  return composed(devices, recorded);
}

replay::Machine machine_for(const std::string& name, const std::vector<replay::SimulatedTier>& tiers) {
  std::vector<std::string> devices;
  for (const auto& t : tiers) devices.push_back(t.device);
  return machine_for(name, devices);
}

}  // namespace tier::tool
