// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <exception>
#include <string>

namespace tier::test {

/// Returns the message of the `Error` that `action` throws.
template <class Error = std::exception>
[[nodiscard]] std::string message_of(auto&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing thrown";
}

}  // namespace tier::test
