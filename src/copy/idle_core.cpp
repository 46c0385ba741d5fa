// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/idle_core.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "core/own_thread.hpp"

namespace tier::detail {

IdleCore::IdleCore() : thread_{own_thread([this] { run(); })} {}

IdleCore::~IdleCore() {
  over_ = true;
  ask();
  thread_.join();
}

void IdleCore::ask() noexcept {
  asked_.fetch_add(1, std::memory_order_release);
  asked_.notify_one();
}

bool IdleCore::answered() const noexcept {
  return answered_.load(std::memory_order_acquire) == asked_.load(std::memory_order_relaxed);
}

// Uses a futex: a condition variable has a lock inside, which the probing thread could hold while it cannot run.
void IdleCore::nudge() noexcept {
  events_.fetch_add(1, std::memory_order_release);
  ::syscall(SYS_futex, &events_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void IdleCore::wait(std::uint32_t seen, std::chrono::nanoseconds at_most) const noexcept {
  constexpr long second = 1'000'000'000;
  const timespec time{at_most.count() / second, at_most.count() % second};
  ::syscall(SYS_futex, &events_, FUTEX_WAIT_PRIVATE, seen, &time, nullptr, 0);
}

void IdleCore::run() noexcept {
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_IDLE, &none);  // of this thread alone
  for (std::uint32_t known = 0;;) {
    asked_.wait(known, std::memory_order_acquire);
    known = asked_.load(std::memory_order_acquire);
    if (over_) return;
    answered_.store(known, std::memory_order_release);
    nudge();
  }
}

}  // namespace tier::detail
