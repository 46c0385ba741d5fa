// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes tiers of memory on NUMA nodes.
#include <tier/memory/numa_node.hpp>
#include <tier/memory/tier.hpp>
#include <tier/memory/tier_spec.hpp>

#include <memory>
#include <vector>

#include "memory/system/numa_system.hpp"

namespace tier {

/// Makes a tier on nodes of this machine.   \param measured  nodes whose `measured` is used where firmware declares nothing
/// \throws  as `make_tier`
[[nodiscard]] std::unique_ptr<Tier> make_numa_tier(const TierSpec& spec, std::vector<NumaNode> measured);

/// Makes a tier on the nodes of any system; tests pass their own.   \throws  as `make_tier`
/// \pre     the library was built with libnuma, or the system does without
[[nodiscard]] std::unique_ptr<Tier> make_numa_tier(const TierSpec& spec,
                                                   std::shared_ptr<const NumaSystem> system);

}  // namespace tier
