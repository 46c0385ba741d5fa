// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The names of operands and objects in messages.
#include <tier/manager/manager.hpp>

#include <string>

namespace tier::detail {

/// Returns `"x" (object 3)`, or `object 3` without a name.
[[nodiscard]] std::string name_of(const Operand& operand);
/// Returns the name of an object; a null reference is memory of the program.
[[nodiscard]] std::string name_of(ObjectRef object);

}  // namespace tier::detail
