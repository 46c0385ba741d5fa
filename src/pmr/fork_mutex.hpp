// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Locks that are held while the process forks, so that the child finds the data they guard consistent.
#include <tier/core/mutex.hpp>

#include <boost/intrusive/list.hpp>

namespace tier::detail {

/// A mutex that is free in the child of a fork, whichever thread held it in the parent.
class ForkMutex : public Mutex, public boost::intrusive::list_base_hook<> {
 public:
  /// \throws  `std::bad_alloc`
  ForkMutex();
  ~ForkMutex();
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;
};

/// Keeps a list of all `ForkMutex` objects.
/// \threadsafety  Internally synchronised. Its lock may be taken under one of theirs.
class ForkMutexes {
 public:
  [[nodiscard]] static ForkMutexes& instance();

  ForkMutexes();
  void add(ForkMutex& mutex) noexcept;
  void remove(ForkMutex& mutex) noexcept;

  /// Locks all of them; one thread may call it more than once. A caller that brings threads to rest for which holders of
  /// these locks wait calls it first.
  void before_fork() noexcept;
  void after_fork() noexcept;

 private:
  [[nodiscard]] bool try_lock_all() noexcept;

  Mutex listing_;
  boost::intrusive::list<ForkMutex, boost::intrusive::constant_time_size<false>> all_
      TIER_GUARDED_BY(listing_);
};

}  // namespace tier::detail
