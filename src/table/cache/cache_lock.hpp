// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The lock of a cache.
#include <tier/core/mutex.hpp>

#include <cstdint>

namespace tier::detail {

/// Lets threads wait until a fetch, a write-back or a session has ended. Waking costs nothing while none waits.
/// \threadsafety  Called under the lock of the cache.
class ChangeSignal {
 public:
  void wait(Mutex& mutex) TIER_REQUIRES(mutex) {
    ++waiting_;
    changed_.wait(mutex);
    --waiting_;
  }
  void wake_all() noexcept {
    if (waiting_ != 0) changed_.notify_all();
  }

 private:
  CondVar changed_;
  std::uint32_t waiting_ = 0;
};

/// The lock of a cache, and the signal for threads that wait; all its parts share them.
struct CacheLock {
  Mutex mutex;
  ChangeSignal changed;
};

}  // namespace tier::detail
