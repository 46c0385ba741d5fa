// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Whether tiers find the memory that they need: more than there is would not fail, the system would end the program.
#include <tier/memory/discovery.hpp>
#include <tier/memory/tiers.hpp>

#include <span>

namespace tier {

/// \throws  `TierError` with `lacking_memory`, if that says anything
void check_memory(std::span<const TierSpec> specs);

/// Whether the process has less left than this, for a tier that grows. False where the system does not say.
/// \complexity  A dozen small files of the system's are read, in some 100 us.
[[nodiscard]] bool lacks_memory(Bytes size) noexcept;

}  // namespace tier
