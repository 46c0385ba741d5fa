// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/manager/manager.hpp>

#include <algorithm>
#include <utility>

#include "admission/out_of_memory.hpp"
#include "live_managers.hpp"
#include "manager_core.hpp"
#include "memory/windows/window_space.hpp"

namespace tier {

std::shared_ptr<Manager> Manager::make(std::vector<std::unique_ptr<Tier>> tiers,
                                       std::unique_ptr<Policy> policy, ManagerOptions options) {
  auto manager = std::make_shared<ManagerCore>(std::move(tiers), std::move(policy), options);
  LiveManagers::instance().add(manager);
  return manager;
}

void Manager::leave(std::span<Operand> batch) noexcept {
  for (auto& op : batch) {
    if (op.block == nullptr) continue;
    if (op.entered)
      leave(op);
    else if (op.advice)
      op.block->manager->let_go(op);
    op.entered = false;
    op.slot = nullptr;
  }
}

Operand Operand::of_part(ObjectRef ref, Use use) {
  const Object& o = *ref.object;
  if (o.retired && use != Use::Overwrite) throw_retired(o.name);
  if (o.retired) o.block->manager->revive(ref);
  return {o.block, nullptr, o.id, o.offset, o.size, use == Use::Overwrite ? Use::Update : use, false};
}

Operand Operand::advice_at(const void* address, Use use, std::span<const std::byte> range) noexcept {
  Operand op;
  op.block = static_cast<Block*>(WindowSpace::find(address));
  op.use = use;
  op.advice = true;
  if (op.block == nullptr) return op;
  op.size = op.block->size;
  const Object* const object = op.block->record->object;
  if (object != nullptr) op.object = object->id;
  op.named = !range.empty();
  if (use == Use::Overwrite) {
    const std::byte* const begin = op.block->record->window_address;
    const auto* const end = object != nullptr
                                ? std::min<const std::byte*>(begin + op.size, object->window + object->size)
                                : begin + op.size;
    const bool all = range.data() <= begin && range.data() + range.size() >= end;
    op.revives = true;
    if (!all) op.use = Use::Update;
  }
  if (!op.block->manager->advise(op)) op.block->manager->hold(op);
  return op;
}

/// A block that must be brought is not stamped as used here: it is not known yet which of them come first.
bool Manager::advise(Operand& op) noexcept {
  if (op.block->state.glance().needs_manager()) return false;
  if (advised_.fetch_add(op.size, std::memory_order_relaxed) + op.size > advice_limit_ ||
      !op.block->try_enter(op.use, clock_.stamp())) {
    advised_.fetch_sub(op.size, std::memory_order_relaxed);
    return false;
  }
  op.entered = true;
  op.address = op.block->address.load(std::memory_order_relaxed);
  return !leave_if_passing(op);
}

bool Manager::leave_if_passing(Operand& op) noexcept {
  if (!op.block->state.glance().is_passing()) return false;
  leave(op);
  op.entered = false;
  return true;
}

// --- windows ---------------------------------------------------------------------------------------------

std::size_t bytes_to_end_of_block(const void* address) noexcept {
  const auto* const b = static_cast<const Block*>(WindowSpace::find(address));
  const auto* const at = static_cast<const std::byte*>(address);
  if (b == nullptr || is_behind(*b, at)) return 0;
  return static_cast<std::size_t>(b->record->window_address + b->size - at);
}

BlockRef block_of(const void* address) noexcept {
  const auto* const b = static_cast<const Block*>(WindowSpace::find(address));
  return b == nullptr ? BlockRef{} : BlockRef{b->manager, b->id};
}

ObjectRef object_of(const void* address) noexcept {
  const auto* const b = static_cast<const Block*>(WindowSpace::find(address));
  return {b == nullptr ? nullptr : b->record->object};
}

}  // namespace tier
