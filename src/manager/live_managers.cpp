// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "live_managers.hpp"

#include <pthread.h>

namespace tier {

LiveManagers& LiveManagers::instance() {
  static auto* const managers = new LiveManagers;
  return *managers;
}

/// In the child of a fork, the lock must not be held by a thread that the child does not have.
LiveManagers::LiveManagers() {
  pthread_atfork([]() TIER_NO_THREAD_SAFETY_ANALYSIS { instance().mutex_.lock(); },
                 []() TIER_NO_THREAD_SAFETY_ANALYSIS { instance().mutex_.unlock(); },
                 []() TIER_NO_THREAD_SAFETY_ANALYSIS { instance().mutex_.unlock(); });
}

void LiveManagers::add(const std::shared_ptr<Manager>& manager) {
  const MutexLock lock{mutex_};
  all_.insert_or_assign(manager.get(), manager);
}

void LiveManagers::remove(const Manager* manager) noexcept {
  const MutexLock lock{mutex_};
  all_.erase(manager);
}

std::shared_ptr<Manager> LiveManagers::find(const Manager* manager) const noexcept {
  const MutexLock lock{mutex_};
  const auto found = all_.find(manager);
  return found == all_.end() ? nullptr : found->second.lock();
}

}  // namespace tier
