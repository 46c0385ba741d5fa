// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  System calls that worked at first and are refused later, because the program has entered a sandbox.
#include <cerrno>

namespace tier::detail {

/// True if the system refuses the call whatever its arguments, so that the caller must use another way from now on.
[[nodiscard]] constexpr bool is_refusal(int error) noexcept {
  return error == EPERM || error == EACCES || error == ENOSYS;
}

}  // namespace tier::detail
