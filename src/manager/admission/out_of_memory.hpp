// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Errors of scopes and allocations, in words.
#include <cstdint>
#include <string_view>
#include <system_error>

#include "manager/state/records.hpp"
#include "manager/store/tier_set.hpp"

namespace tier {

/// Why there is no room.
enum class NoRoom : bool {
  IsFree,  ///< nothing, or not enough, is free
  IsKept   ///< what is free is kept, so that what is there can be exchanged between the tiers
};

/// Throws `OutOfTierMemory`, and says what is in each tier. Does not allocate.
/// \param what   the object; empty: it has no name   \param cause  what the system refused, if it did
[[noreturn]] void throw_out_of_memory(const TierSet& tiers, std::uint64_t size, std::string_view what,
                                      std::error_code cause, NoRoom why = NoRoom::IsFree);
/// Throws `TierError` for a block that a device does not give back.
[[noreturn]] void throw_unreadable(const TierSet& tiers, const Block& b, std::error_code error);
/// Throws `TierError` for a scope on an object whose contents were retired.
/// \param name  of the object
[[noreturn]] void throw_retired(std::string_view name);
/// Throws `TierError` for a scope on an object that was destroyed.
[[noreturn]] void throw_destroyed();

}  // namespace tier
