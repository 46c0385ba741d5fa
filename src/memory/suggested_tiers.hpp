// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  From a machine's memory to specs of tiers.
#include <tier/memory/discovery.hpp>
#include <tier/memory/tiers.hpp>

namespace tier {

/// The memory that a role names: as `numa` on its nodes, or as `dram` where the process has no choice.
/// \throws  `ConfigError` naming the role and what the machine has, if it has no such memory
[[nodiscard]] TierSpec resolve_role(const TierSpec& spec, const Machine& machine);

}  // namespace tier
