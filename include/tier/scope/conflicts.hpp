// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Checked builds: finds conflicting accesses of chains, and uses of overwritten contents.
#include <tier/core/export.hpp>
#include <tier/manager/manager.hpp>
#include <tier/scope/chain.hpp>

#include <span>

namespace tier::detail {

/// Notes that a scope of a chain has opened on the operands. Aborts, naming the object, if one conflicts with a scope that
/// is open in another chain.
/// \threadsafety  These functions are internally synchronised.
TIER_EXPORT void note_accesses(Chain chain, std::span<const Operand> batch) noexcept;
/// Notes that this scope ends.   \pre  The operands are still entered.
TIER_EXPORT void forget_accesses(Chain chain, std::span<const Operand> batch) noexcept;

/// Fills an `overwrites` operand with a NaN pattern, so that its old contents cannot be used.
TIER_EXPORT void spoil(const Operand& operand) noexcept;

}  // namespace tier::detail
