// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Copies of mapped memory that end with an error if an access raises SIGBUS.
#include <tier/core/function_ref.hpp>

#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>

namespace tier {

/// Installs the process's handler of SIGBUS, once for its whole life. A signal that no `BusErrorGuard` of the thread waits
/// for goes to the previous handler.
void install_bus_error_handler() noexcept;

/// Lets copies of mapped memory end with an error where an access raises SIGBUS. Unblocks the signal in this thread during its
/// lifetime, because the system ends a process that has blocked the signal of its own access.
/// \threadsafety  One for each thread.
class BusErrorGuard {
 public:
  /// \pre  `install_bus_error_handler()`
  BusErrorGuard() noexcept;
  ~BusErrorGuard() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BusErrorGuard(const BusErrorGuard&) = delete;
  BusErrorGuard& operator=(const BusErrorGuard&) = delete;

  /// Runs a copy of mapped memory.
  /// \param copy  abandoned if an access to `memory` raises SIGBUS, so it must own nothing
  /// \return      `io_error` if that happened
  std::error_code during(std::span<const std::byte> memory, FunctionRef<void()> copy) noexcept;

 private:
  static void on_signal(int signal, ::siginfo_t* info, void* context) noexcept;
  [[nodiscard]] bool waits_for(const ::siginfo_t& info) const noexcept;
  friend void install_bus_error_handler() noexcept;

  std::uintptr_t begin_ = 0, end_ = 0;
  ::sigset_t before_{};
  ::sigjmp_buf back_{};
};

}  // namespace tier
