// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Memory that calls need while they run, kept for later calls.
#include <tier/core/mutex.hpp>

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace tier::detail {

/// Lends objects to calls, each to one at a time, and keeps them with their memory. Makes one if all are lent.
/// \threadsafety  Internally synchronised.
template <class T>
class ScratchPool {
 public:
  /// Holds a borrowed object, and gives it back on destruction.
  class Borrowed {
   public:
    explicit Borrowed(ScratchPool& pool) : pool_{pool}, object_{pool.take()} {}
    ~Borrowed() { pool_.give_back(std::move(object_)); }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    [[nodiscard]] T& operator*() const noexcept { return *object_; }
    [[nodiscard]] T* operator->() const noexcept { return object_.get(); }

   private:
    ScratchPool& pool_;
    std::unique_ptr<T> object_;
  };

  /// \throws  `std::bad_alloc`
  [[nodiscard]] Borrowed borrow() { return Borrowed{*this}; }

  /// Holds the lock over a fork.
  void before_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void after_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  [[nodiscard]] std::unique_ptr<T> take() TIER_EXCLUDES(mutex_) {
    const MutexLock lock{mutex_};
    if (free_.empty()) return std::make_unique<T>();
    auto object = std::move(free_.back());
    free_.pop_back();
    return object;
  }
  void give_back(std::unique_ptr<T> object) noexcept TIER_EXCLUDES(mutex_) {
    const MutexLock lock{mutex_};
    try {
      free_.push_back(std::move(object));
    } catch (const std::bad_alloc&) {  // then the next call makes a new one
    }
  }

  Mutex mutex_;
  std::vector<std::unique_ptr<T>> free_ TIER_GUARDED_BY(mutex_);
};

}  // namespace tier::detail
