// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Confines the process to one CPU, on which a thread computes.
#include <sched.h>

#include <atomic>
#include <thread>

namespace tier::test {

/// Makes threads that start while this lives share one CPU with a thread that computes until `stop`.
class OneBusyCpu {
 public:
  OneBusyCpu() {
    ::sched_getaffinity(0, sizeof(before_), &before_);
    int first = 0;
    while (!CPU_ISSET(first, &before_)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ::sched_setaffinity(0, sizeof(one), &one);
    computing_ = std::thread{[this] {
      while (!stops_.load(std::memory_order_relaxed)) {
      }
    }};
  }
  ~OneBusyCpu() {
    stop();
    ::sched_setaffinity(0, sizeof(before_), &before_);
  }
  OneBusyCpu(const OneBusyCpu&) = delete;
  OneBusyCpu& operator=(const OneBusyCpu&) = delete;

  void stop() {
    stops_ = true;
    if (computing_.joinable()) computing_.join();
  }

 private:
  cpu_set_t before_{};
  std::atomic<bool> stops_{false};
  std::thread computing_;
};

}  // namespace tier::test
