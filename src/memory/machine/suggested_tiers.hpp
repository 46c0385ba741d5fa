// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes specs of tiers for a machine's memory.
#include <tier/memory/discovery.hpp>
#include <tier/memory/tiers.hpp>

namespace tier {

/// Returns the spec of the memory that a role names: `numa` on its nodes, or `dram` if the process has no choice.
/// \throws  `ConfigError` naming the role and what the machine has, if it has no such memory
[[nodiscard]] TierSpec resolve_role(const TierSpec& spec, const Machine& machine);

}  // namespace tier
