// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Mutexes that Clang's thread-safety analysis understands.
#include <tier/core/detail/hold_timer.hpp>
#include <tier/core/relax.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define TIER_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define TIER_THREAD_ATTRIBUTE(x)
#endif
#define TIER_CAPABILITY(x) TIER_THREAD_ATTRIBUTE(capability(x))
#define TIER_SCOPED_CAPABILITY TIER_THREAD_ATTRIBUTE(scoped_lockable)
#define TIER_GUARDED_BY(x) TIER_THREAD_ATTRIBUTE(guarded_by(x))
#define TIER_RETURN_CAPABILITY(x) TIER_THREAD_ATTRIBUTE(lock_returned(x))
#define TIER_REQUIRES(...) TIER_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define TIER_ACQUIRE(...) TIER_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define TIER_TRY_ACQUIRE(...) TIER_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define TIER_RELEASE(...) TIER_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define TIER_EXCLUDES(...) TIER_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define TIER_NO_THREAD_SAFETY_ANALYSIS TIER_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace tier {

/// A mutex of which Clang's analysis checks that it is held where it must be: `std::mutex` with annotations, which the
/// standard libraries often lack. A thread spins for some microseconds before it sleeps, because ours are held for less time
/// than sleeping and waking take.
class TIER_CAPABILITY("mutex") Mutex {
 public:
  void lock() TIER_ACQUIRE() {
    constexpr int longest = 64;  // 127 pauses in total
    for (int pauses = 1; pauses <= longest; pauses *= 2) {
      if (try_lock()) return;
      for (int i = 0; i < pauses; ++i) detail::relax();
    }
    mutex_.lock();
    timer_.begin();
  }
  [[nodiscard]] bool try_lock() TIER_TRY_ACQUIRE(true) {
    if (!mutex_.try_lock()) return false;
    timer_.begin();
    return true;
  }
  void unlock() TIER_RELEASE() {
    timer_.end();
    mutex_.unlock();
  }
  /// Measures for how long the mutex is held, in a build that can.
  [[nodiscard]] detail::HoldTimer& timer() noexcept { return timer_; }

 private:
  friend class CondVar;
  std::mutex mutex_;
  [[no_unique_address]] detail::HoldTimer timer_;
};

/// Holds a `Mutex` until its end. The caller may unlock it while bytes move, and lock it again.
class TIER_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) TIER_ACQUIRE(mutex) : mutex_{mutex} { mutex_.lock(); }
  ~MutexLock() TIER_RELEASE() {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() TIER_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }
  void lock() TIER_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

/// Lets threads wait for what a `Mutex` guards: a condition variable for it.
class CondVar {
 public:
  void wait(Mutex& mutex) TIER_REQUIRES(mutex) {
    mutex.timer_.end();
    std::unique_lock lock{mutex.mutex_, std::adopt_lock};
    condition_.wait(lock);
    lock.release();
    mutex.timer_.begin();
  }
  /// \return  false on time-out.
  template <class Clock, class Duration>
  bool wait_until(Mutex& mutex, std::chrono::time_point<Clock, Duration> deadline) TIER_REQUIRES(mutex) {
    mutex.timer_.end();
    std::unique_lock lock{mutex.mutex_, std::adopt_lock};
    const bool woken = condition_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    mutex.timer_.begin();
    return woken;
  }
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace tier
