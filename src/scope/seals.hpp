// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Checked builds: finds uses of views after their scope, and writes through views for reading.
#include <tier/manager/manager.hpp>

namespace tier::detail {

/// False if a tier is simulated and keeps no bytes.
[[nodiscard]] bool has_bytes(Manager& manager) noexcept;

/// Call when the first scope on an object has opened. Aborts, naming the object, if it has changed since the last scope
/// ended. AddressSanitizer allows accesses from here on.
/// \pre  The operand is entered; calls of `unseal` and `seal` on one object are serialised.
void unseal(const Operand& operand) noexcept;
/// Call when the last scope on an object is about to end. Aborts, naming the object, if it has changed while it was only
/// read. From here on AddressSanitizer reports accesses, until the manager moves the object.
/// \pre  The operand is entered.
void seal(const Operand& operand) noexcept;

}  // namespace tier::detail
