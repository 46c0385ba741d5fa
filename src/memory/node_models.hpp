// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How fast the memory of a node is taken to be.
#include <tier/memory/discovery.hpp>
#include <tier/memory/tier.hpp>

#include <span>

namespace tier {

/// As firmware declares its speed, else as it was measured, else as such memory usually is; each of rates and latency apart.
[[nodiscard]] TierModel model_of(const NumaNode& node);
/// Where all of that is from, or the worst of it.
[[nodiscard]] SpeedSource speed_source_of(const NumaNode& node);
/// Of memory that is asked of no node: as the slowest of those with CPUs that may be had, or else as such memory usually is.
[[nodiscard]] TierModel model_of_plain_memory(std::span<const NumaNode> nodes);

}  // namespace tier
