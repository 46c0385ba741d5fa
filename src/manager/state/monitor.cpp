// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "monitor.hpp"

#include <tier/core/assert.hpp>

namespace tier {

void Monitor::wait(MutexLock& lock) TIER_NO_THREAD_SAFETY_ANALYSIS {
  if (is_virtual_time_) {
    bool moved = false;
    without_lock(lock, [&] { moved = engine_.wait_for_mover(); });
    TIER_VERIFY(moved, "in virtual time only copies can be waited for, and there must be one");
    return;
  }
  ++waiting_;
  changed_.wait_until(mutex_, std::chrono::steady_clock::now() + patience_);
  --waiting_;
}

}  // namespace tier
