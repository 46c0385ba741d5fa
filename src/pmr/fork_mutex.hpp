// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Locks that are held while the process forks: the child finds what they guard in order, and goes on with it.
#include <tier/core/mutex.hpp>

#include <boost/intrusive/list.hpp>

namespace tier::detail {

/// A mutex that is free in the child of a fork, whichever thread had it.
class ForkMutex : public Mutex, public boost::intrusive::list_base_hook<> {
 public:
  /// \throws  `std::bad_alloc`
  ForkMutex();
  ~ForkMutex();
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;
};

/// All of them.
/// \threadsafety  Internally synchronised. Its lock may be taken under one of theirs.
class ForkMutexes {
 public:
  [[nodiscard]] static ForkMutexes& instance();

  ForkMutexes();
  void add(ForkMutex& mutex) noexcept;
  void remove(ForkMutex& mutex) noexcept;

  /// Takes every one; may be called by one thread more than once. Whoever brings to rest what their holders wait for
  /// calls it first.
  void before_fork() noexcept;
  void after_fork() noexcept;

 private:
  [[nodiscard]] bool try_lock_all() noexcept;

  Mutex listing_;
  boost::intrusive::list<ForkMutex, boost::intrusive::constant_time_size<false>> all_
      TIER_GUARDED_BY(listing_);
};

}  // namespace tier::detail
