// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/forks.hpp"

#include <tier/core/error.hpp>
#include <tier/core/mutex.hpp>

#include <pthread.h>

#include <tuple>

#include "core/fork_list.hpp"
#include "pmr/fork_mutex.hpp"

namespace tier::detail {
namespace {

/// Keeps all managers of the process. Lock order: its lock before any manager's.
class Forks {
 public:
  static Forks& instance() {
    static auto* const forks = new Forks;  // never destroyed: fork handlers cannot be taken back
    return *forks;
  }

  void watch(const std::shared_ptr<Manager>& manager) {
    const MutexLock lock{mutex_};
    managers_.add(manager);
  }

 private:
  Forks() {
    std::ignore = ForkMutexes::instance();  // made first: its handlers cannot be registered from within ours
    const int error = pthread_atfork([] { instance().prepare(); }, [] { instance().resume(false); },
                                     [] { instance().resume(true); });
    if (error != 0) throw TierError{{error, std::generic_category()}, "pthread_atfork"};
  }

  void prepare() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS {
    ForkMutexes::instance().before_fork();  // first: a thread that holds one may be waiting for a manager
    mutex_.lock();
    managers_.before_fork();
  }
  void resume(bool in_child) noexcept TIER_NO_THREAD_SAFETY_ANALYSIS {
    managers_.after_fork(in_child);
    mutex_.unlock();
    ForkMutexes::instance().after_fork();
  }

  Mutex mutex_;
  ForkList<Manager> managers_ TIER_GUARDED_BY(mutex_);
};

}  // namespace

void watch_forks(const std::shared_ptr<Manager>& manager) { Forks::instance().watch(manager); }

}  // namespace tier::detail
