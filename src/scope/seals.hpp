// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Checked builds: finds views that are used after their scope, and writes through those that were for reading.
#include <tier/manager/manager.hpp>

namespace tier::detail {

/// False on simulated tiers.
[[nodiscard]] bool has_bytes(Manager& manager) noexcept;

/// The first scope on an object has opened: aborts, naming it, if it has changed since the last one ended. AddressSanitizer
/// allows accesses from here on.
/// \pre  The operand is entered; calls on one object are serialised, as of `seal`.
void unseal(const Operand& operand) noexcept;
/// The last scope on an object is about to end: aborts, naming it, if it has changed while it was only read. From here on
/// AddressSanitizer reports accesses, until the manager moves the object.
/// \pre  The operand is entered.
void seal(const Operand& operand) noexcept;

}  // namespace tier::detail
