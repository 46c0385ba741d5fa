// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Those that a manager tells of forks and of the end of the runtime, and asks for their statistics.
#include <tier/core/mutex.hpp>
#include <tier/manager/manager.hpp>

#include <memory>
#include <vector>

namespace tier {

/// Knows companions as long as they live.
/// \threadsafety  Internally synchronised. Lock order: its lock, then a companion's, then the manager's.
class Companions {
 public:
  void add(const std::shared_ptr<Companion>& companion) {
    const MutexLock lock{mutex_};
    std::erase_if(known_, [](const Known& known) { return known.companion.expired(); });
    known_.push_back({companion, nullptr, false});
    if (stopped_) companion->stop();
  }

  /// Holds the lock until `after_fork`.
  void before_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.lock();
    for (auto& known : known_)
      if ((known.held = known.companion.lock())) known.held->before_fork();
  }
  void after_fork(bool in_child) noexcept TIER_NO_THREAD_SAFETY_ANALYSIS {
    for (auto& known : known_) {
      if (known.held == nullptr) continue;
      known.held->after_fork(in_child);
      known.for_ever |= in_child;
      if (!known.for_ever) known.held.reset();
    }
    mutex_.unlock();
  }

  void add_statistics(Statistics& statistics) const {
    const MutexLock lock{mutex_};
    for (const auto& known : known_)
      if (const auto companion = known.companion.lock()) companion->add_statistics(statistics);
  }

  void stop() noexcept {
    const MutexLock lock{mutex_};
    stopped_ = true;
    for (const auto& known : known_)
      if (const auto companion = known.companion.lock()) companion->stop();
  }

 private:
  struct Known {
    std::weak_ptr<Companion> companion;
    std::shared_ptr<Companion> held;  // over a fork
    bool for_ever = false;            // in the child
  };

  mutable Mutex mutex_;
  std::vector<Known> known_ TIER_GUARDED_BY(mutex_);
  bool stopped_ TIER_GUARDED_BY(mutex_) = false;
};

}  // namespace tier
