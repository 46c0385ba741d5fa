// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What is known of each slot.
#include <tier/policy/row_policy.hpp>

#include <cstddef>
#include <cstdint>

#include "table/cache/dirty_bits.hpp"
#include "table/rows/row_layout.hpp"

namespace tier::detail {

inline constexpr RowId no_row = ~RowId{0};

/// A slot's descriptor. Zeros: a slot that is not in use.
struct SlotState {
  RowId row;              ///< in the slot, or on its way there; of a free slot the next free one
  BatchNumber hold;       ///< the batch it is held for, while that is open
  std::uint32_t session;  ///< the last that pinned it, if it still does
  std::uint32_t pins : 24;
  std::uint32_t stuck : 1;       ///< writing it back has failed: it cannot leave
  std::uint32_t writing : 1;     ///< it is being written back, and stays
  std::uint32_t prefetched : 1;  ///< prefetched and not asked for yet
};
static_assert(sizeof(SlotState) == CacheShape::slot_metadata);

/// Keeps the descriptors of all slots, lists those that are free, and counts pins. Behind the slots that rows stay in come
/// those for *staging*, which rows only pass through.
/// \threadsafety  Externally synchronised, by the lock of the cache. `is_staging` needs no lock.
class SlotTable {
 public:
  /// All slots are free.   \param memory  for a state of each slot; it outlives the table
  SlotTable(const CacheShape& shape, SlotState* memory, DirtyBits& dirty) noexcept;

  [[nodiscard]] SlotState& operator[](SlotId slot) noexcept { return states_[slot]; }
  [[nodiscard]] const SlotState& operator[](SlotId slot) const noexcept { return states_[slot]; }
  [[nodiscard]] SlotId all() const noexcept { return slots_ + staging_; }  ///< slots, staging included
  [[nodiscard]] SlotId slots() const noexcept { return slots_; }           ///< slots that rows stay in
  [[nodiscard]] bool is_staging(SlotId slot) const noexcept { return slot >= slots_; }

  [[nodiscard]] bool has_free() const noexcept { return free_ != no_slot; }
  /// Takes a free slot, which has `no_row` from now on; `no_slot` if there is none.
  [[nodiscard]] SlotId take_free() noexcept { return take(free_); }
  [[nodiscard]] SlotId take_free_staging() noexcept { return take(free_staging_); }
  void put_free(SlotId slot) noexcept;

  void pin(SlotId slot, std::uint32_t session) noexcept;
  void unpin(SlotId slot, std::uint32_t session) noexcept;
  [[nodiscard]] std::uint64_t pins() const noexcept { return pins_; }  ///< of all slots

  [[nodiscard]] std::size_t count_free() const noexcept;
  [[nodiscard]] std::size_t count_stuck() const noexcept;

 private:
  [[nodiscard]] SlotId take(SlotId& list) noexcept;

  const SlotId slots_, staging_;
  SlotState* const states_;
  DirtyBits& dirty_;
  SlotId free_ = no_slot;
  SlotId free_staging_ = no_slot;
  std::uint64_t pins_ = 0;
};

}  // namespace tier::detail
