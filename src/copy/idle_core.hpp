// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Whether a core has nothing else to do.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace tier::detail {

/// A thread that the system runs only where nobody else wants the core (`SCHED_IDLE`), which takes no privilege. It takes
/// no lock and only its end is waited for, so it may be kept from running for as long as others compute. Where the system
/// refuses that, each core counts as idle.
/// \threadsafety  `nudge` is for anybody, all else for one thread.
class IdleCore {
 public:
  /// \throws  `std::system_error` if it cannot start
  IdleCore();
  ~IdleCore();
  IdleCore(const IdleCore&) = delete;
  IdleCore& operator=(const IdleCore&) = delete;

  void ask() noexcept;
  /// A core has been idle since the last question.
  [[nodiscard]] bool answered() const noexcept;

  /// Answers and nudges until now.
  [[nodiscard]] std::uint32_t events() const noexcept { return events_.load(std::memory_order_acquire); }
  /// Waits for one more than `seen`, but no longer than that; may end early.
  void wait(std::uint32_t seen, std::chrono::nanoseconds at_most) const noexcept;
  void nudge() noexcept;

 private:
  void run() noexcept;

  std::atomic<std::uint32_t> asked_{0}, answered_{0};  // questions
  std::atomic<std::uint32_t> events_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace tier::detail
