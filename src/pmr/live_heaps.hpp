// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  All heaps of the process, for forks: the child finds each at rest, and goes on with it.
#include <tier/core/mutex.hpp>

#include <boost/intrusive/list.hpp>

#include "pmr/cached_heap.hpp"

namespace tier::detail {

/// \threadsafety  Internally synchronised. Its lock may be taken under a heap's.
class LiveHeaps {
 public:
  [[nodiscard]] static LiveHeaps& instance();

  LiveHeaps();
  void add(CachedHeap& heap) noexcept;
  void remove(CachedHeap& heap) noexcept;

  /// Holds every heap; may be called by one thread more than once. Whoever brings to rest what heaps draw from calls it
  /// first: a thread that holds a heap may be waiting for that.
  void before_fork() noexcept;
  void after_fork() noexcept;

 private:
  [[nodiscard]] bool try_lock_heaps() noexcept;

  Mutex mutex_;
  boost::intrusive::list<CachedHeap, boost::intrusive::constant_time_size<false>> heaps_
      TIER_GUARDED_BY(mutex_);
};

}  // namespace tier::detail
