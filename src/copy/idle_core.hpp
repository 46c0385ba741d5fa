// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Finds out whether a core is idle.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace tier::detail {

/// Probes for an idle core with a thread that the system runs only if no other thread wants the core (`SCHED_IDLE`, which
/// needs no privilege). It takes no lock, and only its end is waited for, so it may be kept from running as long as other
/// threads compute. If the system refuses `SCHED_IDLE`, each core counts as idle.
/// \threadsafety  Any thread may call `nudge`; one thread calls all else.
class IdleCore {
 public:
  /// \throws  `std::system_error` if it cannot start
  IdleCore();
  ~IdleCore();
  IdleCore(const IdleCore&) = delete;
  IdleCore& operator=(const IdleCore&) = delete;

  void ask() noexcept;
  /// True if a core has been idle since the last `ask`.
  [[nodiscard]] bool answered() const noexcept;

  /// Returns the number of answers and nudges so far.
  [[nodiscard]] std::uint32_t events() const noexcept { return events_.load(std::memory_order_acquire); }
  /// Waits until `events()` differs from `seen`, but no longer than `at_most`; may end early.
  void wait(std::uint32_t seen, std::chrono::nanoseconds at_most) const noexcept;
  void nudge() noexcept;

 private:
  void run() noexcept;

  std::atomic<std::uint32_t> asked_{0}, answered_{0};  // counts of questions
  std::atomic<std::uint32_t> events_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace tier::detail
