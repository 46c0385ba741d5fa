// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Simulates a table's row cache under a real policy: `table/cache/row_cache.hpp` without bytes and threads.
#include <tier/policy/row_policy.hpp>

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "table/rows/row_layout.hpp"

namespace tier::replay {

/// The moves of one call, and the time to wait for. A row counts each time it moves; if a tier moves blocks, bytes are
/// those of the blocks.
struct RowMoves {
  std::uint64_t hits = 0;        ///< rows asked for that were in a slot, or on their way
  std::uint64_t read_rows = 0;   ///< to slots, or through staging
  std::uint64_t read_bytes = 0;  ///< including reads that complete blocks to be written
  std::uint64_t written_rows = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t in_place_rows = 0;  ///< used in the slow tier
  std::uint64_t updated_rows = 0;   ///< each once
  std::uint64_t ready_at = 0;       ///< time at which the last row that was on its way arrives, ns

  RowMoves& operator+=(const RowMoves& other) noexcept;
};

/// Tracks which rows of a table are cached. Batches, from 1 on, are announced, perhaps prefetched, gathered, perhaps
/// updated, and end, in the order of their numbers. All rows of a batch are held until its end, as far as they fit.
class CachedRows final : private RowFacts {
 public:
  /// \param slots        above 0
  /// \param addressable  true: gathers use rows without a slot in the slow tier; false: such rows pass through staging
  CachedRows(const tier::detail::RowLayout& layout, SlotId slots, std::unique_ptr<RowPolicy> policy,
             bool addressable);

  [[nodiscard]] bool uses_in_place() const noexcept { return in_place_; }
  /// \pre  At most 255 other batches are open.
  /// \return  the number of different rows
  std::size_t announce(BatchNumber batch, std::span<const RowId> ids);
  /// Prefetches rows of the announced batches until only held slots are left.
  /// \param ready_at  called with the moves of each row that is fetched; returns when the row is there
  void prefetch(auto&& ready_at) {
    last_block_ = no_block;
    for (auto& batch : open_) {
      for (; batch.prefetched < batch.rows.size(); ++batch.prefetched) {
        RowMoves moves;
        const auto slot = fetch_ahead(batch, moves);
        if (slot == no_slot) return;
        if (moves.read_rows > 0) states_[slot].ready_at = ready_at(moves);
      }
    }
  }
  /// Gathers a batch, and ends the batches before it.
  [[nodiscard]] RowMoves gather(BatchNumber batch, std::span<const RowId> ids);
  /// Updates rows of the batch gathered last, which ends; of none if that has ended.
  [[nodiscard]] RowMoves update(std::span<const RowId> ids);

 private:
  struct Slot {
    RowId row = 0;
    BatchNumber hold = 0;  ///< the last batch that wants it kept
    bool dirty = false;
    std::uint64_t ready_at = 0;
  };
  struct Batch {
    BatchNumber number = 0;
    std::vector<RowId> rows{};  ///< each once, ascending
    std::size_t prefetched = 0;
  };
  class MayGo;
  static constexpr RowId no_block = std::numeric_limits<RowId>::max();

  [[nodiscard]] SlotId slot_of(RowId row) const noexcept override { return map_[row]; }
  [[nodiscard]] bool is_held(const Slot& slot) const noexcept {
    return slot.hold >= first_open_ && slot.hold != 0;
  }
  [[nodiscard]] SlotId fetch_ahead(const Batch& batch, RowMoves& moves);
  [[nodiscard]] SlotId insert(RowId row, RoomFor purpose, BatchNumber hold, RowMoves& moves);
  void evict(SlotId slot, RowMoves& moves);
  void write_back(RowId row, RowMoves& moves);
  void read(RowId row, RowMoves& moves);
  void end_before(BatchNumber batch);

  tier::detail::RowLayout layout_;
  std::unique_ptr<RowPolicy> policy_;
  bool in_place_;     // all misses are used in the slow tier
  bool addressable_;  // other rows without a slot are used in the slow tier, too
  bool wants_all_;
  std::vector<SlotId> map_;  // by row
  std::vector<Slot> states_;
  std::vector<SlotId> free_;
  std::deque<Batch> open_;       // announced and not over
  BatchNumber first_open_ = 1;   // batches below are over
  BatchNumber gathered_ = 0;     // the batch gathered last, if not updated yet
  RowId last_block_ = no_block;  // last block read by this call
};

}  // namespace tier::replay
