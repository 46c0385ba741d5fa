// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  System calls that worked when the program began and are refused later: in a sandbox that it has entered since.
#include <cerrno>

namespace tier::detail {

/// Whether the system refuses the call, whatever is asked: it is to be done in another way from now on.
[[nodiscard]] constexpr bool is_refusal(int error) noexcept {
  return error == EPERM || error == EACCES || error == ENOSYS;
}

}  // namespace tier::detail
