// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Says where all threads are when a test program has stopped moving.
#include <atomic>
#include <chrono>
#include <thread>

namespace tier::test {

/// Prints the stacks of all threads to stderr, once, when the process has used no processor time for a while and waits
/// for no child: threads that wait for each other, or for a fault that nobody serves. Nothing ends by it.
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

/// What the kernel says of each thread of this process, and, where gdb is installed, the calls that each is in.
void print_stacks();

}  // namespace tier::test
