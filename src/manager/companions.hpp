// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Companions, which a manager tells of forks and of the end of the runtime, and asks for statistics.
#include <tier/core/mutex.hpp>
#include <tier/manager/manager.hpp>

#include <memory>

#include "core/fork_list.hpp"

namespace tier {

/// Knows companions as long as they live.
/// \threadsafety  Internally synchronised. Lock order: its lock, then a companion's, then the manager's.
class Companions {
 public:
  void add(const std::shared_ptr<Companion>& companion) {
    const MutexLock lock{mutex_};
    known_.add(companion);
    if (stopped_) companion->stop();
  }

  /// Holds the lock until `after_fork`.
  void before_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.lock();
    known_.before_fork();
  }
  void after_fork(bool in_child) noexcept TIER_NO_THREAD_SAFETY_ANALYSIS {
    known_.after_fork(in_child);
    mutex_.unlock();
  }

  void add_statistics(Statistics& statistics) const {
    const MutexLock lock{mutex_};
    known_.for_each([&](const Companion& companion) { companion.add_statistics(statistics); });
  }

  void stop() noexcept {
    const MutexLock lock{mutex_};
    stopped_ = true;
    known_.for_each([](Companion& companion) { companion.stop(); });
  }

 private:
  mutable Mutex mutex_;
  detail::ForkList<Companion> known_ TIER_GUARDED_BY(mutex_);
  bool stopped_ TIER_GUARDED_BY(mutex_) = false;
};

}  // namespace tier
