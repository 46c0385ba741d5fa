// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The manager's lock, and how its threads wait for each other.
#include <tier/copy/copy_engine.hpp>
#include <tier/core/mutex.hpp>

#include <chrono>
#include <cstddef>

namespace tier {

/// Lets threads wait for any change of what the manager's lock guards. One condition variable serves all waits, because they
/// are rare, and long next to a wake-up.
/// \threadsafety  Under the manager's lock, but for `mutex`.
class Monitor {
 public:
  /// \param engine    replaces waiting if it runs on a virtual clock
  /// \param patience  the longest wait without a change, after which the caller looks again, and may report the wait
  Monitor(Mutex& mutex, CopyEngine& engine, bool is_virtual_time, std::chrono::milliseconds patience) noexcept
      : mutex_{mutex}, engine_{engine}, is_virtual_time_{is_virtual_time}, patience_{patience} {}
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  /// The lock itself, for parts that do most of their work without it.
  [[nodiscard]] Mutex& mutex() const noexcept { return mutex_; }

  /// Waits for any change, or until it is time to report the wait.
  void wait(MutexLock& lock);
  /// Wakes all threads that wait.
  void changed() noexcept {
    if (waiting_ > 0) changed_.notify_all();
  }
  /// Does work that must not happen under the lock. What was read before must be read again afterwards. The analysis of
  /// locks takes the lock for held.
  template <class F>
  void without_lock(MutexLock& lock, F&& work) TIER_NO_THREAD_SAFETY_ANALYSIS {
    struct Relock {
      MutexLock& lock;
      ~Relock() TIER_NO_THREAD_SAFETY_ANALYSIS { lock.lock(); }  // also if `work` throws
    };
    lock.unlock();
    const Relock relock{lock};
    work();
  }

  /// Counts calls that may release the lock halfway, while they hold regions and perhaps a block without a place.
  void call_begins() noexcept { ++calls_; }
  void call_ends() noexcept { --calls_; }
  [[nodiscard]] bool has_calls() const noexcept { return calls_ > 0; }

 private:
  Mutex& mutex_;
  CopyEngine& engine_;
  const bool is_virtual_time_;
  const std::chrono::milliseconds patience_;
  CondVar changed_;
  unsigned waiting_ = 0;
  std::size_t calls_ = 0;
};

}  // namespace tier
