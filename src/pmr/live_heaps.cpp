// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <pthread.h>

#include <thread>

#include "pmr/cached_heap.hpp"
#include "pmr/live_heaps.hpp"
#include "pmr/metadata.hpp"

namespace tier::detail {
namespace {

constinit thread_local unsigned times_held = 0;  // of the thread that forks

}  // namespace

LiveHeaps& LiveHeaps::instance() {
  static LiveHeaps* const heaps = make_metadata<LiveHeaps>().release();  // handlers cannot be taken back
  return *heaps;
}

LiveHeaps::LiveHeaps() {
  pthread_atfork([] { instance().before_fork(); }, [] { instance().after_fork(); },
                 [] { instance().after_fork(); });
}

void LiveHeaps::add(CachedHeap& heap) noexcept {
  const MutexLock lock{mutex_};
  heaps_.push_front(heap);
}

void LiveHeaps::remove(CachedHeap& heap) noexcept {
  const MutexLock lock{mutex_};
  heaps_.erase(heaps_.iterator_to(heap));
}

void LiveHeaps::before_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS {
  if (times_held++ > 0) return;
  // A thread that holds one heap may wait for another, or for the list: so nothing is held while waiting here.
  for (mutex_.lock(); !try_lock_heaps(); mutex_.lock()) {
    mutex_.unlock();
    std::this_thread::yield();
  }
}

bool LiveHeaps::try_lock_heaps() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS {
  for (auto heap = heaps_.begin(); heap != heaps_.end(); ++heap) {
    if (heap->mutex().try_lock()) continue;
    while (heap != heaps_.begin()) (--heap)->mutex().unlock();
    return false;
  }
  return true;
}

void LiveHeaps::after_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS {
  if (--times_held > 0) return;
  for (auto& heap : heaps_) heap.mutex().unlock();
  mutex_.unlock();
}

}  // namespace tier::detail
