// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The tiers of a replay and their devices, in the manager's order.
#include <tier/replay/machine.hpp>
#include <tier/replay/replay.hpp>

#include <vector>

namespace tier::replay {

/// Returns the tiers in the manager's order.
/// \throws  `ConfigError` for more than `max_tiers`, or naming a device that is given twice, or that the machine lacks and
///          those that it has
[[nodiscard]] std::vector<SimulatedTier> in_order(std::vector<SimulatedTier> tiers, const Machine& machine);

/// Returns the tiers' devices.   \pre  The machine has them.
[[nodiscard]] std::vector<const Device*> devices_of(const std::vector<SimulatedTier>& tiers,
                                                    const Machine& machine);

}  // namespace tier::replay
