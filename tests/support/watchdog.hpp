// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Prints where all threads are when a test program hangs.
#include <atomic>
#include <chrono>
#include <thread>

namespace tier::test {

/// Prints the stacks of all threads to stderr, once, if the process has used no processor time for a while and waits for no
/// child: its threads wait for each other, or for a fault that no thread serves. It does not end the process.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds patience = std::chrono::seconds{30});
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch(std::chrono::seconds patience) const;

  std::atomic<bool> over_{false};
  std::thread thread_;
};

/// Prints what the kernel says of each thread of this process and, if gdb is installed, its call stack.
void print_stacks();

}  // namespace tier::test
