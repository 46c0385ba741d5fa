// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Parses the tiers and the machine of a replay.
#include <tier/replay/machine.hpp>
#include <tier/replay/replay.hpp>
#include <tier/trace/trace.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tier::tool {

/// Parses `dram:180GB;optane:1300GB`. Each name is that of a machine's device, optionally after `simulated:`.
/// \throws  `ConfigError` naming text and position
[[nodiscard]] std::vector<replay::SimulatedTier> parse_simulated_tiers(std::string_view text);

/// Parses `dram;optane`: devices without sizes.
[[nodiscard]] std::vector<std::string> parse_devices(std::string_view text);

struct ChosenDevices {
  std::vector<std::string> names;
  std::string why;
  std::vector<replay::Device> recorded{};  ///< those that only the recording describes
};

/// Chooses two devices if the user names none.
/// \param machine  as in `machine_for`; empty if the user names none
/// \return         the fastest two tiers of a recording, with its own models for devices that are not known here; with a
///                 machine that lacks these, its first two devices. If the trace names no two known tiers: dram and optane
[[nodiscard]] ChosenDevices two_devices(const trace::Trace& trace, const std::string& machine);

/// Finds a machine that has these devices.
/// \param name  a built-in machine; a file if it has a slash or ends in .json; - for the standard input; empty: the first
///              built-in machine that has all devices, or else the machine of the fastest device, extended by other
///              machines' devices and by models of tiers
/// \param recorded  further known devices
/// \throws      `ConfigError` listing the choices, and as `read_machine`
[[nodiscard]] replay::Machine machine_for(const std::string& name, const std::vector<std::string>& devices,
                                          const std::vector<replay::Device>& recorded = {});
[[nodiscard]] replay::Machine machine_for(const std::string& name,
                                          const std::vector<replay::SimulatedTier>& tiers);

}  // namespace tier::tool
