// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/cache/slot_table.hpp"

#include <utility>

namespace tier::detail {

SlotTable::SlotTable(const CacheShape& shape, SlotState* memory, DirtyBits& dirty) noexcept
    : slots_{shape.slots}, staging_{shape.staging}, states_{memory}, dirty_{dirty} {
  for (auto slot = all(); slot-- > 0;) put_free(slot);
}

SlotId SlotTable::take(SlotId& list) noexcept {
  const auto slot = list;
  if (slot != no_slot) list = std::exchange(states_[slot].row, no_row);
  return slot;
}

void SlotTable::put_free(SlotId slot) noexcept {
  auto& list = is_staging(slot) ? free_staging_ : free_;
  states_[slot] = {};
  dirty_.set(slot, false);
  states_[slot].row = std::exchange(list, slot);
}

void SlotTable::pin(SlotId slot, std::uint32_t session) noexcept {
  auto& state = states_[slot];
  state.session = session;
  state.pins = (state.pins + 1) & 0xFF'FFFF;
  ++pins_;
}

void SlotTable::unpin(SlotId slot, std::uint32_t session) noexcept {
  auto& state = states_[slot];
  if (state.session == session) state.session = 0;
  state.pins = (state.pins - 1) & 0xFF'FFFF;
  --pins_;
}

std::size_t SlotTable::count_free() const noexcept {
  std::size_t count = 0;
  for (auto list : {free_, free_staging_})
    for (; list != no_slot; list = states_[list].row) ++count;
  return count;
}

std::size_t SlotTable::count_stuck() const noexcept {
  std::size_t count = 0;
  for (SlotId slot = 0; slot < all(); ++slot) count += states_[slot].stuck;
  return count;
}

}  // namespace tier::detail
