// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pmr/fork_mutex.hpp"

#include <pthread.h>

#include <thread>

#include "pmr/metadata.hpp"

namespace tier::detail {
namespace {

constinit thread_local unsigned times_held = 0;  // by the thread that forks

}  // namespace

ForkMutex::ForkMutex() { ForkMutexes::instance().add(*this); }
ForkMutex::~ForkMutex() { ForkMutexes::instance().remove(*this); }

ForkMutexes& ForkMutexes::instance() {
  static ForkMutexes* const all = make_metadata<ForkMutexes>().release();  // never destroyed: handlers stay
  return *all;
}

ForkMutexes::ForkMutexes() {
  pthread_atfork([] { instance().before_fork(); }, [] { instance().after_fork(); },
                 [] { instance().after_fork(); });
}

void ForkMutexes::add(ForkMutex& mutex) noexcept {
  const MutexLock lock{listing_};
  all_.push_front(mutex);
}

void ForkMutexes::remove(ForkMutex& mutex) noexcept {
  const MutexLock lock{listing_};
  all_.erase(all_.iterator_to(mutex));
}

void ForkMutexes::before_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS {
  if (times_held++ > 0) return;
  // A thread that holds one of the locks may wait for another, or for the list, so this thread holds none while it waits.
  for (listing_.lock(); !try_lock_all(); listing_.lock()) {
    listing_.unlock();
    std::this_thread::yield();
  }
}

bool ForkMutexes::try_lock_all() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS {
  for (auto mutex = all_.begin(); mutex != all_.end(); ++mutex) {
    if (mutex->try_lock()) continue;
    while (mutex != all_.begin()) (--mutex)->unlock();
    return false;
  }
  return true;
}

void ForkMutexes::after_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS {
  if (--times_held > 0) return;
  for (auto& mutex : all_) mutex.unlock();
  listing_.unlock();
}

}  // namespace tier::detail
