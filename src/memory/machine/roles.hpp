// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Finds the memory that a role names: the fastest, the largest, or of a kind.
#include <tier/memory/machine.hpp>
#include <tier/memory/tier_spec.hpp>

namespace tier {

/// Returns the spec of the memory that a role names: `numa` on its nodes, or `dram` if the process has no choice.
/// \throws  `ConfigError` naming the role and what the machine has, if it has no such memory
[[nodiscard]] TierSpec resolve_role(const TierSpec& spec, const Machine& machine);

}  // namespace tier
