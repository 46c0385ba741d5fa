// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What messages call an operand or an object.
#include <tier/manager/manager.hpp>

#include <string>

namespace tier::detail {

/// `"x" (object 3)`, or without a name `object 3`.
[[nodiscard]] std::string name_of(const Operand& operand);
/// The same; null is memory of the program.
[[nodiscard]] std::string name_of(ObjectRef object);

}  // namespace tier::detail
