// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The tiers and the machine that a replay is given, as text.
#include <tier/replay/machine.hpp>
#include <tier/replay/replay.hpp>
#include <tier/trace/trace.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tier::tool {

/// `dram:180GB;optane:1300GB`, where a name is that of a machine's device; `simulated:` may stand before it.
/// \throws  `ConfigError` naming text and position
[[nodiscard]] std::vector<replay::SimulatedTier> parse_simulated_tiers(std::string_view text);

/// `dram;optane`: devices without sizes.
[[nodiscard]] std::vector<std::string> parse_devices(std::string_view text);

struct ChosenDevices {
  std::vector<std::string> names;
  std::string why;
  std::vector<replay::Device> recorded{};  ///< of these, what the recording alone knows
};

/// Two devices, where nobody names any.
/// \param machine  as `machine_for` has it; empty: none is asked for
/// \return         the fastest two tiers of a recording, by the models that it has of what is not known here; with a machine,
///                 if that has them, and else its first two. Of a trace that names no tiers dram and optane
[[nodiscard]] ChosenDevices two_devices(const trace::Trace& trace, const std::string& machine);

/// \param name  of a built-in machine, or of a file, with a slash or ending in .json, or - for the standard input; empty: the first built-in one that has all
///               of the devices, or else that of the fastest of them with devices of others, and of the models of tiers, beside it
/// \param recorded  beside what is known
/// \throws      `ConfigError` naming what there is, and as `read_machine`
[[nodiscard]] replay::Machine machine_for(const std::string& name, const std::vector<std::string>& devices,
                                          const std::vector<replay::Device>& recorded = {});
[[nodiscard]] replay::Machine machine_for(const std::string& name,
                                          const std::vector<replay::SimulatedTier>& tiers);

}  // namespace tier::tool
