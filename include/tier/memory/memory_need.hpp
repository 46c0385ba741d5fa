// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How much memory a process can have, and what tiers lack of it.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>

#include <span>
#include <string>

namespace tier {

struct TierSpec;

/// Returns the most memory that this process can have: the machine's, limited by its allowed nodes and control groups. Zero
/// if the system does not say.
[[nodiscard]] TIER_EXPORT Bytes memory_bound();

/// Says how much memory these tiers lack; empty if none. Tiers of memory, and tiers whose files lie in memory, need their
/// whole size and a little more. The bound is what the machine has available with its swap, within what the process's
/// control groups have left of their limits.
[[nodiscard]] TIER_EXPORT std::string lacking_memory(std::span<const TierSpec> specs);
/// True if a file at this path, or in this directory, would lie in memory: on tmpfs or ramfs.
[[nodiscard]] TIER_EXPORT bool lies_in_memory(const std::string& path);

}  // namespace tier
