// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The factory of tiers, and all that it needs to be told.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/memory/device_models.hpp>
#include <tier/memory/io_faults.hpp>
#include <tier/memory/suggested_tiers.hpp>
#include <tier/memory/tier.hpp>
#include <tier/memory/tier_spec.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tier {

struct Machine;

/// Makes a tier.
/// \throws  `ConfigError` for an unknown model, a size of zero, a malformed list of nodes, or a kind that this library was
///          built without; `TierError` naming the system call that failed, the tier and its path or node.
/// \threadsafety  Any thread may call it, as every function in this header.
[[nodiscard]] TIER_EXPORT std::unique_ptr<Tier> make_tier(const TierSpec& spec);
/// Makes a tier on a machine that is known already, and perhaps measured: `NumaNode::measured` is used where firmware
/// declares nothing about a node.
[[nodiscard]] TIER_EXPORT std::unique_ptr<Tier> make_tier(const TierSpec& spec, const Machine& machine);

/// Makes a tier like that of `tiers::simulated`, but with any model.
/// \throws  `ConfigError` for a size of zero
[[nodiscard]] TIER_EXPORT std::unique_ptr<Tier> make_simulated_tier(std::string name, const TierModel& model,
                                                                    Bytes size);

}  // namespace tier
