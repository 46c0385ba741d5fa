// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Waits for a condition that other threads bring about, such as the end of the last fault's service.
#include <chrono>
#include <thread>

namespace tier::test {

/// True if `holds` becomes true within ten seconds.
inline bool eventually(auto&& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace tier::test
