// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The slot cache of a table.
#include <tier/core/error.hpp>
#include <tier/core/function_ref.hpp>
#include <tier/core/mutex.hpp>
#include <tier/manager/manager.hpp>
#include <tier/table/table_options.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "table/cache/cache_directory.hpp"
#include "table/cache/cache_lock.hpp"
#include "table/cache/cache_memory.hpp"
#include "table/cache/direct_writer.hpp"
#include "table/cache/dirty_bits.hpp"
#include "table/cache/epochs.hpp"
#include "table/cache/failsafe_policy.hpp"
#include "table/cache/row_mover.hpp"
#include "table/cache/row_placer.hpp"
#include "table/cache/row_session.hpp"
#include "table/cache/row_store.hpp"
#include "table/cache/slot_map.hpp"
#include "table/cache/use_log.hpp"
#include "table/rows/row_layout.hpp"

namespace tier::detail {

/// Caches rows of one table in slots of the fastest tier. Each row also has a home, its place in a slower tier.
///
/// Composes the parts: `CacheDirectory` knows which row is in which slot, `RowPlacer` decides where a row is used,
/// `RowMover` moves its bytes. This class opens sessions, lets them wait, and takes the one lock around all decisions;
/// bytes move outside it. Readers that find their rows in slots need no lock, only an epoch.
///
/// Lock order: the gate, then the cache's lock. A policy is called under the latter.
/// \threadsafety  Internally synchronised; one `Update` session at a time.
class RowCache {
 public:
  /// Places slots, map and descriptors in `manager`'s fastest tier.
  /// \param slow  the home of the rows
  RowCache(Manager& manager, const RowLayout& layout, const CacheShape& shape, PlacedStorage slow,
           std::unique_ptr<RowPolicy> policy, std::string name);
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  [[nodiscard]] const CacheShape& shape() const noexcept { return memory_.shape(); }
  [[nodiscard]] Tier& slow() const noexcept { return home_.tier(); }
  [[nodiscard]] Bytes bytes() const noexcept { return memory_.bytes(); }

  /// Writes the first contents of all rows, in pieces.   \pre  Nothing else is called yet.
  /// \param fill  sets rows [first, first + count) at an address, where they lie as `RowLayout::home` says; the memory is
  ///              zeroed
  void write_all(FunctionRef<void(RowId first, RowId count, std::byte* memory)> fill);

  // Readers use these without a lock, inside an epoch.
  [[nodiscard]] Epochs& epochs() noexcept { return epochs_; }
  [[nodiscard]] SlotView view() const noexcept { return map_.view(memory_.slots()); }

  // Direct use: rows that are in no slot are used in the slow tier, which the CPU can address, and only the background moves
  // rows.
  [[nodiscard]] DirectView direct_view() const noexcept { return {view(), home_.rows()}; }
  [[nodiscard]] DirectWriter direct_writer() noexcept {
    return {direct_view(), memory_.slots(), home_.rows(), dirty_};
  }
  /// See `SlotMap::version`.
  [[nodiscard]] std::uint64_t map_version() const noexcept { return map_.version(); }
  /// Returns how many uses `review` tells the policy of in each call, at most.
  [[nodiscard]] std::size_t most_reviewed() const noexcept;
  /// Tells the policy of uses in the log.
  /// \pre                  `admitted` has room for `most_reviewed()` rows
  /// \param[out] admitted  rows among these uses that the policy admits to slots
  /// \return               true if there are more
  bool review(std::vector<RowId>& admitted) noexcept TIER_EXCLUDES(lock_.mutex);
  /// Fetches rows, as far as there is room. Allocates nothing.
  /// \pre  no thread writes rows directly; `session` is reserved; `admitted` is as `review` has left it
  void promote(RowSession& session, std::span<const RowId> admitted) noexcept TIER_EXCLUDES(lock_.mutex);

  // Sessions.
  /// Reserves all memory that `promote` and `prefetch` need.   \throws  `std::bad_alloc`
  void reserve(RowSession& background) const;
  /// Pins rows in order, fetching those that are missing, until all are pinned, there is no room for more, or the next one
  /// would have to be waited for while others are pinned.
  /// \param addresses  set for the rows that were pinned
  /// \return           how many were pinned; at least one, unless there are no rows
  /// \throws           `TierError` naming the row that cannot be read, `OutOfTierMemory`; nothing is pinned then
  std::size_t acquire(RowSession& session, std::span<const RowId> rows, std::span<RowAddress> addresses)
      TIER_EXCLUDES(lock_.mutex);
  /// Unpins all rows; those of an `Update` session become dirty.
  /// \param used  false: the caller has not written to the rows
  void release(RowSession& session, bool used = true) noexcept TIER_EXCLUDES(lock_.mutex);
  /// Fetches rows, beginning with the first, and holds them for an open batch; handles a limited number in each call.
  /// Allocates nothing.
  /// \pre              `session` is reserved
  /// \param[out] full  true if there was no room for the next one, or a gather or an update is taking room
  /// \return           how many rows were handled
  std::size_t prefetch(RowSession& session, BatchNumber batch, std::span<const RowId> rows,
                       bool& full) noexcept TIER_EXCLUDES(lock_.mutex);
  /// Writes back every dirty row.
  /// \pre     no row is being updated
  /// \throws  `TierError` of the first that failed, after trying all; in the child of a fork, where nothing is written
  void flush(RowSession& session) TIER_EXCLUDES(lock_.mutex);

  // Batches.
  /// \return  a number for which rows can be held; 0 if too many batches are open
  [[nodiscard]] BatchNumber open_batch() TIER_EXCLUDES(lock_.mutex);
  void announce(BatchNumber batch, std::span<const RowId> rows) TIER_EXCLUDES(lock_.mutex);
  /// Ends the holds of a batch.
  /// \param announced  its rows, if the policy was told of them   \param used  true if it was gathered
  void end_batch(BatchNumber batch, std::span<const RowId> announced, bool used) noexcept
      TIER_EXCLUDES(lock_.mutex);
  /// Holds the cached ones of these rows, unless a later announced batch holds them.
  /// \param ending  a batch that is about to end: its holds pass to `batch`
  void hold(BatchNumber batch, std::span<const RowId> rows, BatchNumber ending) noexcept
      TIER_EXCLUDES(lock_.mutex);

  // Uses.
  /// Reports uses that were served without a lock. The policy may hear of them later, or not at all.
  /// \param hold  the batch to hold these rows for, or 0
  void note_uses(std::span<const RowId> rows, BatchNumber hold) noexcept TIER_EXCLUDES(lock_.mutex);
  /// True if `note_uses` drops what is not held.
  [[nodiscard]] bool log_is_full() const noexcept { return log_.is_full(); }
  [[nodiscard]] bool policy_wants_all() const noexcept { return policy_.wants_all(); }

  /// Called around a fork: waits until no session is open and no bytes move, and keeps the locks.
  void before_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS;
  /// In the child the slow tier's files belong to the parent: rows that are in no slot cannot be reached.
  void after_fork(bool in_child) noexcept TIER_NO_THREAD_SAFETY_ANALYSIS;
  [[nodiscard]] bool is_in_fork_child() const noexcept { return home_.is_cut_off(); }

  /// Returns this cache's counters; those of the table are zeros.
  [[nodiscard]] TableStatistics statistics() const TIER_EXCLUDES(lock_.mutex);
  void reset_statistics() TIER_EXCLUDES(lock_.mutex);
  /// See `CacheDirectory`.
  void check_invariants() const TIER_EXCLUDES(lock_.mutex);

 private:
  void open(RowSession& session) noexcept TIER_EXCLUDES(lock_.mutex);
  [[nodiscard]] RowPlacer::Step place_some(RowSession& session, std::span<const RowId> rows,
                                           std::span<RowAddress> addresses, std::size_t& next)
      TIER_REQUIRES(lock_.mutex);
  [[nodiscard]] TierError row_error(const RowFailure& failure, std::string_view what) const;
  [[nodiscard]] OutOfTierMemory no_room_error() const TIER_REQUIRES(lock_.mutex);

  const std::string name_;
  const CacheMemory memory_;
  RowStore home_;
  SlotMap map_;
  DirtyBits dirty_;
  UseLog log_;
  FailsafePolicy policy_;
  Epochs epochs_;

  Mutex gate_;  // held over a fork, which waits for open sessions to end
  mutable CacheLock lock_;
  OpenSessions sessions_ TIER_GUARDED_BY(lock_.mutex);
  CacheDirectory directory_ TIER_GUARDED_BY(lock_.mutex);
  RowPlacer placer_ TIER_GUARDED_BY(lock_.mutex);
  RowMover mover_;
};

}  // namespace tier::detail
