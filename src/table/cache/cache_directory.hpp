// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a cache knows of its rows and slots.
#include <tier/policy/row_policy.hpp>
#include <tier/table/table_options.hpp>

#include <cstddef>
#include <span>
#include <system_error>
#include <vector>

#include "table/cache/dirty_bits.hpp"
#include "table/cache/failsafe_policy.hpp"
#include "table/cache/hold_book.hpp"
#include "table/cache/row_session.hpp"
#include "table/cache/slot_map.hpp"
#include "table/cache/slot_table.hpp"
#include "table/cache/use_log.hpp"
#include "table/rows/row_layout.hpp"

namespace tier::detail {

/// Knows which row is in which slot, and in what state. Each change of a row's place is one method, which keeps the map, the
/// slots, the policy and the counters in agreement. Moves no bytes, and never waits.
///
/// A missed row's `begin_fetch` evicts the row that has its slot. If that is dirty, `end_eviction` follows when it has been
/// written back, or `undo_eviction`. `end_fetch` makes the new row readable, `cancel_fetch` frees its slot. A row that
/// stays in its slot is written back between `begin_write` and `end_write`; it cannot leave meanwhile.
///
/// (C1) a row's entry names a slot whose `row` it is, or whose `row` is about to replace it; (C2) free slots, slots
/// with a row and staging that a row is stuck in are all slots; (C3) a slot in the map without its pending bit is readable;
/// (C4) a row in no slot is current in the slow tier.
/// \threadsafety  Externally synchronised, by the lock of the cache.
class CacheDirectory final : private RowFacts {
 public:
  /// Attaches the policy. All slots are free.
  /// \param states  memory for a state of each slot; it and the other parts outlive the directory
  CacheDirectory(const RowLayout& layout, const CacheShape& shape, SlotState* states, SlotMap& map,
                 DirtyBits& dirty, UseLog& log, FailsafePolicy& policy) noexcept;

  [[nodiscard]] MapEntry entry(RowId row) const noexcept { return map_[row]; }
  /// Returns the slot that the policy has given to the row, staging excluded; `no_slot` if it has none, or is leaving.
  [[nodiscard]] SlotId slot_of(RowId row) const noexcept override;
  [[nodiscard]] SlotTable& slots() noexcept { return slots_; }
  [[nodiscard]] const SlotTable& slots() const noexcept { return slots_; }
  [[nodiscard]] HoldBook& batches() noexcept { return batches_; }
  [[nodiscard]] TableStatistics& counters() noexcept { return counters_; }
  [[nodiscard]] const TableStatistics& counters() const noexcept { return counters_; }
  [[nodiscard]] std::error_code last_write_error() const noexcept { return write_error_; }

  // Uses.
  /// Tells the policy that the next row of the session is used: once, however often it is examined.
  void tell_use(RowSession& session, RowId row, SlotId slot) noexcept;
  [[nodiscard]] bool admits(RowId row) noexcept { return policy_.admit(row, slots_.has_free()); }
  /// Tells the policy of the hits in the log, which is empty then.
  void drain_log() noexcept;
  /// Tells the policy of uses in the log, at most `most`.
  /// \param[out] admitted  has, behind what it had, rows among these uses that are nowhere and that the policy admits
  /// \return               true if there are more
  bool review_log(std::size_t most, std::vector<RowId>& admitted) noexcept;

  // Pins and holds.
  void pin(RowSession& session, SlotId slot) noexcept;
  /// Unpins all slots of the session but the first `kept`. Frees staging, unless its row is stuck there.
  /// \param changed  their rows become dirty
  void let_go(RowSession& session, std::size_t kept, bool changed) noexcept;
  [[nodiscard]] bool is_held(const SlotState& state) const noexcept { return batches_.is_open(state.hold); }
  void take_hold(SlotState& state, BatchNumber batch) const noexcept {
    state.hold = batches_.stronger(state.hold, batch);
  }
  /// Holds the cached ones of these rows for a batch, which uses them now, and tells the policy of hits.
  void hold_used(BatchNumber batch, std::span<const RowId> rows) noexcept;
  /// Holds the cached ones of these rows for a batch that wants them later; holds of the batch `ending` pass to it.
  void hold_prefetched(BatchNumber batch, std::span<const RowId> rows, BatchNumber ending) noexcept;
  void announce(BatchNumber batch, std::span<const RowId> rows) noexcept;
  /// Ends a batch.   \param announced  its rows, if the policy was told of them   \param used  it was gathered
  void end_batch(BatchNumber batch, std::span<const RowId> announced, bool used) noexcept;

  // Fetches and evictions.
  void begin_fetch(RowSession& session, RowId row, SlotId slot);
  void end_fetch(const RowSession& session, const Fetch& fetch) noexcept;
  void cancel_fetch(RowSession& session, const Fetch& fetch) noexcept;
  void end_eviction(const Fetch& fetch) noexcept;
  /// The row that should have left stays in its slot, stuck, and nothing is lost.
  void undo_eviction(RowSession& session, const Fetch& fetch) noexcept;

  // Write-backs of rows that stay.
  /// True if the row may be written with its block. Rows in use or held are left out, since updates would have to wait.
  [[nodiscard]] bool may_join(RowId row) const noexcept;
  /// True if the row is on its way to the slow tier, because it leaves or is written with its block.
  [[nodiscard]] bool is_being_written(RowId row) const noexcept;
  /// True if the row is in a slot, or stuck in staging, and the slow tier has no current copy.
  [[nodiscard]] bool is_dirty(RowId row) const noexcept {
    const auto entry = map_[row];
    return !entry.is_nowhere() && dirty_.is_dirty(entry.slot());
  }
  void begin_write(SlotId slot) noexcept { slots_[slot].writing = true; }
  /// \param error  none: the row is clean; else it is stuck until a flush succeeds
  void end_write(SlotId slot, std::error_code error) noexcept;
  /// Keeps a row that cannot be written back in its staging slot, where it is readable, until a flush frees it.
  void keep_in_staging(SlotId slot) noexcept { map_.set(slots_[slot].row, MapEntry::readable(slot)); }
  /// True if a stuck row has been written back since, so that its staging slot can be freed. Slots in use stay.
  [[nodiscard]] bool is_done_with_staging(SlotId slot) const noexcept;
  void remove(RowId row) noexcept { map_.set(row, MapEntry::nowhere()); }

  /// \throws  `std::logic_error` naming the broken invariant; for tests, when no session is open
  void check_invariants() const;

 private:
  void note_write_error(std::error_code error) noexcept;

  const RowLayout layout_;
  SlotMap& map_;
  DirtyBits& dirty_;
  UseLog& log_;
  FailsafePolicy& policy_;
  SlotTable slots_;
  HoldBook batches_;
  std::error_code write_error_;  // the last one
  TableStatistics counters_;
};

}  // namespace tier::detail
