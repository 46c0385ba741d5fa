// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/manager/block.hpp>

#include <array>
#include <atomic>
#include <cstdint>

#include "live_managers.hpp"
#include "manager_core.hpp"
#include "state/reader_slots.hpp"

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
  // A slot has a block's number, the thread that has found it pinned last, and whether another had before: a slot may have
  // been left by a block of the same number, so one change of threads tells nothing.
  static constinit std::array<std::atomic<std::uint64_t>, 64> last_finders{};
  static constinit thread_local char here = 0;
  constexpr std::uint64_t changed = std::uint64_t{1} << 32U, number = 33;
  const auto thread = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(&here) >> 4U);
  auto& last = last_finders[id % last_finders.size()];
  const auto before = last.load(std::memory_order_relaxed);
  const bool same_block = before >> number == id << number >> number;
  const bool changes = same_block && static_cast<std::uint32_t>(before) != thread;
  last.store(id << number | (changes ? changed : 0) | thread, std::memory_order_relaxed);
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
