// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/manager/block.hpp>

#include <atomic>
#include <cstdint>

#include "live_managers.hpp"
#include "manager_core.hpp"
#include "state/reader_slots.hpp"
#include "state/records.hpp"

namespace tier {

bool Block::enter_watched(BlockState::Value before, Use use, std::uint64_t stamp) noexcept {
  if (before.needs_manager()) {
    leave();
    return false;
  }
  note_use(use, stamp);
  static_cast<ManagerCore*>(manager)->used(*this, use, before.is_outside());
  return true;
}

/// Stamps the use if the last stamp is a thousand uses old, or from before the clock advanced: a stamp for each would take the
/// cache line from the other readers.
ReaderSlot* Block::enter_shared(std::uint64_t stamp) noexcept {
  ReaderSlot* const slot = ReaderSlots::free_slot();
  if (slot == nullptr) return nullptr;
  slot->take(state);
  if (!state.lets_readers_in()) {
    if (slot->give_back()) leave();
    return nullptr;
  }
  constexpr std::uint64_t soon = 1000;
  if (stamp > last_use.load(std::memory_order_relaxed) + soon)
    last_use.store(stamp, std::memory_order_relaxed);
  return slot;
}

void Block::found_pinned() noexcept {
  if (record == nullptr) return;  // its object is gone, and whoever uses it still will be told
  static constinit thread_local char here = 0;
  constexpr std::uint32_t changed = 1;
  const auto thread = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(&here) >> 4U) << 1U;
  const std::atomic_ref<std::uint32_t> last{record->found_pinned_by};
  const auto before = last.load(std::memory_order_relaxed);
  const bool changes = before != 0 && (before & ~changed) != thread;
  last.store(thread | (changes ? changed : 0), std::memory_order_relaxed);
  if (changes && (before & changed) != 0) state.share();
}

void Block::leave(ReaderSlot& slot) noexcept {
  if (slot.give_back()) leave();
}

void Block::pin_for(ReaderSlot& slot) noexcept {
  state.pin_anyway();
  leave(slot);
}

void Block::last_left(const Manager* manager, BlockId id) noexcept {
  if (const auto live = LiveManagers::instance().find(manager))
    static_cast<ManagerCore&>(*live).last_unpinned(id);
}

}  // namespace tier
