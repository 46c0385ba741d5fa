// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tuple>

#include "pmr/cached_heap.hpp"
#include "pmr/live_heaps.hpp"
#include "pmr/metadata.hpp"

namespace tier::detail {

CachedHeap::CachedHeap(SegmentSource& source, bool uses_depot) : uses_depot_{uses_depot}, heap_{source} {
  LiveHeaps::instance().add(*this);
}

CachedHeap::~CachedHeap() { LiveHeaps::instance().remove(*this); }

std::uint64_t CachedHeap::next_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

ThreadCache* CachedHeap::cache_of_this_thread() noexcept {
  ThreadCache* cache = ThreadCaches::find(id());
  return cache != nullptr ? cache : ThreadCaches::make(shared_from_this());
}

void* CachedHeap::allocate_slowly(SizeClass c) {
  ThreadCache* cache = cache_of_this_thread();
  MutexLock lock{mutex_};
  if (cache != nullptr && !cache->is_void()) {
    cache->grow(c);
    cache->filled(c, refill(c, cache->room(c)));
    return cache->pop(c);
  }
  void* cell = nullptr;
  std::ignore = refill(c, {&cell, 1});
  return cell;
}

std::size_t CachedHeap::refill(SizeClass c, std::span<void*> cells) {
  if (const auto taken = depot_.take(c, cells); taken > 0) return taken;
  try {
    return heap_.allocate(c, cells);
  } catch (...) {
    if (depot_.empty()) throw;
  }
  drain_depot();  // what it has of other classes may be a span's last, or a segment's
  return heap_.allocate(c, cells);
}

void CachedHeap::drain_depot() noexcept {
  depot_.drain([&](SizeClass c, std::span<void* const> cells)
                   TIER_NO_THREAD_SAFETY_ANALYSIS { heap_.free(c, cells); });
}

void CachedHeap::trim() noexcept {
  const MutexLock lock{mutex_};
  drain_depot();
}

void CachedHeap::deallocate_slowly(void* cell, SizeClass c) noexcept {
  ThreadCache* cache = cache_of_this_thread();
  if (cache != nullptr && (cache->push(c, cell) || (cache->grow(c) && cache->push(c, cell)))) return;
  MutexLock lock{mutex_};
  if (cache == nullptr) return heap_.free(c, {&cell, 1});
  if (cache->is_void()) return;
  const auto oldest = cache->oldest(c);
  if (!uses_depot_ || !depot_.put(c, oldest)) heap_.free(c, oldest);
  cache->drop(c, oldest.size());
  std::ignore = cache->push(c, cell);  // there is room now
}

void CachedHeap::give_back(const ThreadCache& cache) noexcept {
  MutexLock lock{mutex_};
  if (cache.is_void()) return;
  for (unsigned c = 0; c < class_count; ++c) heap_.free(SizeClass(c), cache.cells(SizeClass(c)));
}

void CachedHeap::renew(std::uint64_t id) noexcept {
  MutexLock lock{mutex_};
  id_.store(id, std::memory_order_relaxed);
  depot_.clear();
  heap_.release();
}

bool CachedHeap::owns(const void* p) const noexcept {
  MutexLock lock{mutex_};
  return heap_.owns(p);
}

Bytes CachedHeap::segments() const noexcept {
  MutexLock lock{mutex_};
  return heap_.segments();
}

Bytes CachedHeap::allocated() const noexcept {
  const MutexLock lock{mutex_};
  return heap_.allocated();
}

void CachedHeap::check_invariants() const {
  MutexLock lock{mutex_};
  heap_.check_invariants();
}

}  // namespace tier::detail
