// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <new>
#include <tuple>

#include "pmr/cached_heap.hpp"
#include "pmr/metadata.hpp"

namespace tier::detail {

CachedHeap::CachedHeap(SegmentSource& source, bool sharded) : sharded_{sharded}, heap_{source} {}

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
    cache->filled(c, refill(c, cache->room(c), cache->shard()));
    return cache->pop(c);
  }
  void* cell = nullptr;
  std::ignore = refill(c, {&cell, 1}, 0);
  return cell;
}

std::size_t CachedHeap::refill(SizeClass c, std::span<void*> cells, Shard shard) {
  if (const auto& depot = depots_[shard]; depot != nullptr)
    if (const auto taken = depot->take(c, cells); taken > 0) return taken;
  try {
    return heap_.allocate(c, cells, shard);
  } catch (...) {
    if (const auto count = refill_without_segment(c, cells, shard); count > 0) return count;
    throw;
  }
}

/// \return  how many cells were taken, perhaps none
std::size_t CachedHeap::refill_without_segment(SizeClass c, std::span<void*> cells, Shard shard) {
  if (!depots_are_empty()) try {
      drain_depots();  // cells of other classes may empty a span or a segment
      return heap_.allocate(c, cells, shard);
    } catch (const std::bad_alloc&) {
    }
  cells.front() = heap_.allocate_alone(c);
  return cells.front() == nullptr ? 0 : 1;
}

Depot* CachedHeap::depot(Shard shard) noexcept {
  auto& depot = depots_[shard];
  if (depot == nullptr) try {
      depot = make_metadata<Depot>();
    } catch (const std::bad_alloc&) {
    }
  return depot.get();
}

bool CachedHeap::depots_are_empty() const noexcept {
  return std::ranges::all_of(depots_, [](const auto& depot) { return depot == nullptr || depot->empty(); });
}

void CachedHeap::drain_depot(Shard shard) noexcept {
  if (const auto& depot = depots_[shard]; depot != nullptr)
    depot->drain([&](SizeClass c, std::span<void* const> cells)
                     TIER_NO_THREAD_SAFETY_ANALYSIS { heap_.free(c, cells); });
}

void CachedHeap::drain_depots() noexcept {
  for (unsigned shard = 0; shard < most_shards; ++shard) drain_depot(static_cast<Shard>(shard));
}

void CachedHeap::trim() noexcept {
  const MutexLock lock{mutex_};
  drain_depots();
}

void CachedHeap::deallocate_slowly(void* cell, SizeClass c) noexcept {
  ThreadCache* cache = cache_of_this_thread();
  if (cache != nullptr && (cache->push(c, cell) || (cache->grow(c) && cache->push(c, cell)))) return;
  MutexLock lock{mutex_};
  if (cache == nullptr) return heap_.free(c, {&cell, 1});
  if (cache->is_void()) return;
  const auto oldest = cache->oldest(c);
  Depot* const depot = sharded_ ? this->depot(heap_.shard_of(oldest.front())) : nullptr;
  if (depot == nullptr || !depot->put(c, oldest)) heap_.free(c, oldest);
  cache->drop(c, oldest.size());
  std::ignore = cache->push(c, cell);  // there is room now
}

ThreadSeat CachedHeap::add_thread(ThreadCache& cache) noexcept {
  const MutexLock lock{mutex_};
  caches_.push_back(cache);
  const auto shards = std::span{threads_}.first(sharded_ ? most_shards : 1);
  const auto least = std::ranges::min_element(shards);
  ++*least;
  return {id(), static_cast<Shard>(least - shards.begin())};
}

void CachedHeap::give_back(ThreadCache& cache) noexcept {
  if (cache.is_void()) return;  // stays void; and this thread may hold the lock, if it came here for memory
  const MutexLock lock{mutex_};
  if (cache.is_void()) return;
  caches_.erase(caches_.iterator_to(cache));
  if (--threads_[cache.shard()] == 0) drain_depot(cache.shard());
  for (unsigned c = 0; c < class_count; ++c) heap_.free(SizeClass(c), cache.cells(SizeClass(c)));
}

void CachedHeap::renew(std::uint64_t id) noexcept {
  MutexLock lock{mutex_};
  id_.store(id, std::memory_order_relaxed);
  threads_ = {};
  depots_ = {};
  caches_.clear();
  heap_.release();
}

Outstanding CachedHeap::outstanding() const noexcept {
  const MutexLock lock{mutex_};
  const auto alone = heap_.alone();
  Outstanding all{static_cast<std::ptrdiff_t>(heap_.cells() + alone.cells),
                  static_cast<std::ptrdiff_t>((heap_.allocated() + alone.bytes).count), 0};
  const auto leave_out = [&](SizeClass c, std::span<void* const> free) TIER_NO_THREAD_SAFETY_ANALYSIS {
    for (const void* cell : free) {
      const bool ours = alone.cells > 0 || heap_.owns(cell);  // outside segments, foreign cells look alike
      all.foreign += !ours;
      all.cells -= ours;
      all.bytes -= ours ? static_cast<std::ptrdiff_t>(class_size(c)) : 0;
    }
  };
  for (const auto& depot : depots_)
    if (depot != nullptr) depot->for_each(leave_out);
  for (const auto& cache : caches_)
    for (unsigned c = 0; c < class_count; ++c) leave_out(SizeClass(c), cache.cells(SizeClass(c)));
  return all;
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
