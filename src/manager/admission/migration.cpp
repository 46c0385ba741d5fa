// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "migration.hpp"

#include <algorithm>

#include "manager/movement/watermarks.hpp"
#include "out_of_memory.hpp"

namespace tier {

Migration::Migration(State& state, Store& store, Movement& movement, TierIndex to, MutexLock& lock)
    : state_{state}, store_{store}, movement_{movement}, to_{to}, lock_{lock} {
  tasks_.reserve(together);
  blocks_.reserve(together);
}

void Migration::run(std::span<const BlockId> ids) {
  const CallInProgress call{state_, store_, movement_.compactor};
  for (; !ids.empty(); ids = ids.subspan(std::min(together, ids.size()))) {
    const auto few = ids.first(std::min(together, ids.size()));
    store_.pages.hold_writes(few, to_);
    try {
      for (const auto id : few) add(id);
    } catch (...) {
      carry_out();
      throw;
    }
    carry_out();
  }
  check_watermarks(state_, store_);
  throw_if_failed();
}

void Migration::add(BlockId id) {
  const auto most = store_.tiers[to_].heap.capacity().count / 4;  // blocks on their way cannot make room
  if (on_their_way_ > most) carry_out();
  Transfer* const transfer = begin(id);
  if (transfer == nullptr) return;
  tasks_.push_back(transfer);
  blocks_.push_back(id);
  on_their_way_ += transfer->size;
}

void Migration::carry_out() {
  state_.monitor.without_lock(lock_, [&] { state_.engine.run(tasks_); });
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    auto& transfer = static_cast<Transfer&>(*tasks_[i]);
    if (transfer.failure && !failure_) failure_ = {transfer.failure, transfer.failed, blocks_[i]};
    movement_.transfers.unreference(transfer);
  }
  tasks_.clear();
  blocks_.clear();
  on_their_way_ = 0;
}

void Migration::throw_if_failed() const {
  if (!failure_) return;
  const Block* const b = store_.catalog.find(failure_->block);
  if (b == nullptr) return;  // the block is gone
  if (failure_->direction == Direction::Write)
    throw_out_of_memory(store_.tiers, b->size, name_of(*b), failure_->error);
  throw_unreadable(store_.tiers, *b, failure_->error);
}

/// \return  the transfer, which the caller runs; null if there is nothing to copy, or the block is in use
Transfer* Migration::begin(BlockId id) {
  RoomReport report;
  Block* b = store_.catalog.find(id);
  if (b == nullptr || b->record->primary() == nullptr || b->record->primary()->tier == to_) return nullptr;
  if (b->record->immovable || b->record->transfer != nullptr || is_read(*b) ||
      movement_.transfers.settle_in(*b, to_, Cause::Plan))
    return nullptr;
  Region* const to = movement_.evictor.make_room_for(*b, to_, report, lock_);
  b = store_.catalog.find(id);  // the lock may have been released
  if (to == nullptr && b != nullptr) throw_out_of_memory(store_.tiers, b->size, name_of(*b), report.cause);
  if (b == nullptr || b->record->primary() == nullptr || b->record->in(to_) != nullptr || is_read(*b) ||
      !start_moving(*b)) {
    if (to != nullptr) store_.regions.free(to);
    return nullptr;
  }
  const auto kind = to_ < b->record->primary()->tier ? TransferKind::Fetch : TransferKind::Evict;
  Transfer* const transfer = movement_.transfers.begin(*b, kind, to, Cause::Plan);
  if (transfer != nullptr) ++transfer->references;
  return transfer;
}

}  // namespace tier
