// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What comes to hold when others have ended what they are at, such as the fault that was served last.
#include <chrono>
#include <thread>

namespace tier::test {

/// Whether it comes to hold within ten seconds.
inline bool eventually(auto&& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace tier::test
