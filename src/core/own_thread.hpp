// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Threads that the library starts.
#include <csignal>
#include <thread>
#include <utility>

namespace tier::detail {

/// Starts a thread that receives no signals sent to the process, because the program's handlers may touch memory that only
/// this thread can provide, or take locks that it holds.
template <class F>
[[nodiscard]] std::thread own_thread(F&& run) {
  struct Blocked {
    Blocked() noexcept {
      ::sigset_t all;
      ::sigfillset(&all);
      for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) ::sigdelset(&all, fault);  // faults
      ::pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~Blocked() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    Blocked(const Blocked&) = delete;
    Blocked& operator=(const Blocked&) = delete;
    ::sigset_t before{};
  } const blocked;
  return std::thread{std::forward<F>(run)};
}

}  // namespace tier::detail
