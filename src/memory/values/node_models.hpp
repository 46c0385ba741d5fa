// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The assumed speed of a node's memory.
#include <tier/memory/numa_node.hpp>
#include <tier/memory/tier_model.hpp>

#include <span>

namespace tier {

/// Returns a node's model: each rate and latency as firmware declares it, else as measured, else typical of such memory.
[[nodiscard]] TierModel model_of(const NumaNode& node);
/// Returns the source of that model; the least reliable one if its numbers have several.
[[nodiscard]] SpeedSource speed_source_of(const NumaNode& node);
/// Returns the model of memory on no particular node: that of the slowest allowed node with CPUs, else the typical one.
[[nodiscard]] TierModel model_of_plain_memory(std::span<const NumaNode> nodes);

}  // namespace tier
