// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/manager/block.hpp>

#include "live_managers.hpp"
#include "manager_core.hpp"

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

void Block::last_left(const Manager* manager, BlockId id) noexcept {
  if (const auto live = LiveManagers::instance().find(manager))
    static_cast<ManagerCore&>(*live).last_unpinned(id);
}

}  // namespace tier
