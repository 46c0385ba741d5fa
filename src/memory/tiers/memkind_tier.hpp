// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tiers of memory that the library memkind finds.
#include <tier/memory/tier.hpp>
#include <tier/memory/tier_spec.hpp>

#include <memory>

#include "memory/system/numa_system.hpp"

namespace tier {

/// Makes a tier of memory from memkind.
/// \param model   used if the system does not say which node the memory is on
/// \param mapped  model of a file that is not in persistent memory
/// \param system  says how fast the nodes are
/// \throws  `ConfigError` for an unknown kind, or if this library was built without memkind;
///          `TierError` naming the call, the tier and the kind
[[nodiscard]] std::unique_ptr<Tier> make_memkind_tier(const TierSpec& spec, const TierModel& model,
                                                      const TierModel& mapped,
                                                      std::shared_ptr<const NumaSystem> system);

}  // namespace tier
