// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A heap of small allocations that threads share with little contention.
#include <tier/core/bytes.hpp>
#include <tier/core/mutex.hpp>

#include <array>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "pmr/depot.hpp"
#include "pmr/fork_mutex.hpp"
#include "pmr/metadata.hpp"
#include "pmr/segment_heap.hpp"
#include "pmr/thread_cache.hpp"

namespace tier::detail {

/// Counts what was allocated in a heap and not deallocated: cells taken, less the free ones in caches and depots.
struct Outstanding {
  std::ptrdiff_t cells = 0;  ///< below 0: some were deallocated twice
  std::ptrdiff_t bytes = 0;  ///< of whole cells
  std::size_t foreign = 0;   ///< deallocated here, but not allocated here
};

/// Keeps a segment heap behind a lock, and a cache of its free cells for each thread that uses it. Any thread may free a
/// cell. Caches keep the heap alive as an empty shell when it is closed, so that a thread may end later.
/// \threadsafety  Internally synchronised. The source is called under the heap's lock, which is taken after any lock under
///                which the heap is used; if one heap is another's source, the lock of the heap that uses it comes first.
class CachedHeap : public std::enable_shared_from_this<CachedHeap> {
 public:
  /// \param sharded  threads take cells from different pages as long as there are shards, and freed cells serve other
  ///                 threads without passing through their spans: faster, but spans and segments empty later
  /// \pre  `source` outlives the heap's closing. Made by `std::allocate_shared`, because caches share it.
  explicit CachedHeap(SegmentSource& source, bool sharded = true);

  /// \throws  what the source throws, or `std::bad_alloc`, after cells in depots and a single cell were tried; nothing has
  ///          changed
  [[nodiscard]] void* allocate(SizeClass c) {
    if (ThreadCache* cache = ThreadCaches::find(id())) [[likely]]
      if (void* cell = cache->pop(c)) [[likely]]
        return cell;
    return allocate_slowly(c);
  }
  /// \pre  The cell was allocated as this class.
  void deallocate(void* cell, SizeClass c) noexcept {
    if (ThreadCache* cache = ThreadCaches::find(id())) [[likely]]
      if (cache->push(c, cell)) [[likely]]
        return;
    deallocate_slowly(cell, c);
  }
  /// Gives all segments back, whatever is allocated in them. May run concurrently with other calls, whose cells are then
  /// gone.
  void release() noexcept { renew(next_id()); }
  /// Releases. From then on the source is not called, and no thread may call the heap.
  void close() noexcept { renew(0); }

  /// Returns cells in depots to their spans, so that spans may empty. Cells in thread caches stay.
  void trim() noexcept TIER_EXCLUDES(mutex_);
  /// Gives one more thread a seat, in the shard with the fewest threads.
  /// \pre  The thread gives the cache back before the cache ends.
  [[nodiscard]] ThreadSeat add_thread(ThreadCache& cache) noexcept TIER_EXCLUDES(mutex_);
  /// Takes back a thread's cells and its seat.
  void give_back(ThreadCache& cache) noexcept TIER_EXCLUDES(mutex_);

  /// Returns the id, which changes when the heap is released: caches with an earlier id are void.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool owns(const void* p) const noexcept;
  /// \pre  No thread uses the heap meanwhile.
  [[nodiscard]] Outstanding outstanding() const noexcept TIER_EXCLUDES(mutex_);
  [[nodiscard]] Bytes segments() const noexcept;
  /// Returns the bytes of cells that were taken, including those in thread caches and depots.
  [[nodiscard]] Bytes allocated() const noexcept;
  /// Returns the lock under which the source is called.
  [[nodiscard]] Mutex& mutex() const noexcept TIER_RETURN_CAPABILITY(mutex_) { return mutex_; }
  /// \throws  `std::logic_error` naming the broken invariant; for tests
  void check_invariants() const;

 private:
  [[nodiscard]] ThreadCache* cache_of_this_thread() noexcept;
  [[nodiscard]] void* allocate_slowly(SizeClass c);
  void deallocate_slowly(void* cell, SizeClass c) noexcept;
  [[nodiscard]] std::size_t refill(SizeClass c, std::span<void*> cells, Shard shard) TIER_REQUIRES(mutex_);
  [[nodiscard]] std::size_t refill_without_segment(SizeClass c, std::span<void*> cells, Shard shard)
      TIER_REQUIRES(mutex_);
  /// Returns the depot of a shard.   \return  null if there is none, and no memory for it
  [[nodiscard]] Depot* depot(Shard shard) noexcept TIER_REQUIRES(mutex_);
  [[nodiscard]] bool depots_are_empty() const noexcept TIER_REQUIRES(mutex_);
  void drain_depot(Shard shard) noexcept TIER_REQUIRES(mutex_);
  void drain_depots() noexcept TIER_REQUIRES(mutex_);
  void renew(std::uint64_t id) noexcept;
  [[nodiscard]] static std::uint64_t next_id() noexcept;

  std::atomic<std::uint64_t> id_{next_id()};  // relaxed, because it is checked again under the lock
  alignas(64) mutable ForkMutex mutex_;       // on another line than the id, which every call reads
  const bool sharded_;
  alignas(64) SegmentHeap heap_ TIER_GUARDED_BY(mutex_);  // on another line than the lock, which waiters poll
  std::array<unsigned, most_shards> threads_ TIER_GUARDED_BY(mutex_){};  // in each shard
  std::array<MetadataPtr<Depot>, most_shards> depots_
      TIER_GUARDED_BY(mutex_){};  // null until the shard uses one
  boost::intrusive::list<ThreadCache, boost::intrusive::constant_time_size<false>> caches_
      TIER_GUARDED_BY(mutex_);  // made since the last release
};

}  // namespace tier::detail
