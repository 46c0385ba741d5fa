// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Aborts with a message, in every build, if a program asks a scope for an object that it does not have.
#include <tier/core/export.hpp>
#include <tier/manager/manager.hpp>

#include <span>
#include <string_view>

namespace tier::detail {

/// A place in the program. The default argument `{__builtin_FILE(), __builtin_LINE()}` is the place of the call, like
/// `std::source_location`, which clang has from version 16 on.
struct Caller {
  const char* file = nullptr;  ///< null: unknown
  int line = 0;
};

/// Names the object, the caller, and the operands of the scope, and aborts.
/// \param object  null: memory of the program   \param use  the wanted use: `Read`, or any other for writing
/// \param here    the operands of the scope, which are entered
[[noreturn]] TIER_EXPORT void not_in_scope(ObjectRef object, Use use, std::span<const Operand> here,
                                           Caller caller) noexcept;

/// Names an object of each runtime, and the kernel, and aborts.
/// \param kernel  empty for other scopes
[[noreturn]] TIER_EXPORT void of_two_runtimes(std::span<const Operand> operands,
                                              std::string_view kernel) noexcept;

}  // namespace tier::detail
