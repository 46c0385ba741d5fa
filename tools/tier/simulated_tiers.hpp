// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The tiers and the machine that a replay is given, as text.
#include <tier/replay/machine.hpp>
#include <tier/replay/replay.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tier::tool {

/// `dram:180GB;optane:1300GB`, where a name is that of a machine's device; `simulated:` may stand before it.
/// \throws  `ConfigError` naming text and position
[[nodiscard]] std::vector<replay::SimulatedTier> parse_simulated_tiers(std::string_view text);

/// \param name  of a built-in machine; empty: the first that has all of the tiers' devices
/// \throws      `ConfigError` naming what there is
[[nodiscard]] const replay::Machine& machine_for(std::string_view name,
                                                 const std::vector<replay::SimulatedTier>& tiers);

}  // namespace tier::tool
