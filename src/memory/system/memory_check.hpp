// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Refuses tiers for which there is too little memory: making them would not fail, but the system would end the
///        program later.
#include <tier/memory/tier_spec.hpp>

#include <span>

namespace tier {

/// Checks the tiers together.   \throws  `TierError` with the text of `lacking_memory`, if it is not empty
void check_memory(std::span<const TierSpec> specs);

}  // namespace tier
