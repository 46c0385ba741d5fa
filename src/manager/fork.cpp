// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The part of a manager that works in the child of a fork: access to the bytes that are there.
#include "fork_faults.hpp"
#include "manager_core.hpp"

#include <tier/core/error.hpp>

namespace tier {

void ManagerCore::before_fork() noexcept {
  companions_.before_fork();  // companions may wait for us, never we for them
  // Before the lock: a chunk in flight may need it to end. In a child nothing runs, and the engine's lock has no living
  // holder.
  if (!in_fork_child_) engine_.pause();
  mutex_.lock();
}

void ManagerCore::after_fork(bool in_child) noexcept {
  if (in_child) {
    in_fork_child_ = true;
    for (auto& [id, b] : by_id_)
      if (b->record->window_address != nullptr) leave_to_child(*b);
    if (windows_ != nullptr) explain_faults_in_child();
    for (auto& [id, b] : by_id_) refresh(*b);
  }
  mutex_.unlock();
  if (!in_fork_child_) engine_.resume();
  companions_.after_fork(in_child);
}

/// Forbids access to an absent block: no thread serves faults in the child, and absent pages must not read as zeros.
void ManagerCore::leave_to_child(const Block& b) noexcept {
  if (b.address.load(std::memory_order_relaxed) == nullptr)
    windows_->forbid(b.record->window_address, b.size);
}

bool ManagerCore::copied_by_fork(const Block& b) const noexcept {
  const Region* primary = b.record->primary();
  if (b.record->window_address != nullptr)
    return b.address.load(std::memory_order_relaxed) != nullptr && windows_->is_copied_by_fork();
  return primary != nullptr && tiers_[primary->tier].tier->is_copied_by_fork();
}

/// Enters without transfers or waits: a block is where it is, or out of reach.
void ManagerCore::enter_in_child(std::span<Operand> batch) {
  for (auto& op : batch) {
    if (op.entered) continue;
    Block& b = *op.block;
    const auto state = b.state.pin_anyway();
    op.entered = true;
    op.address = b.address.load(std::memory_order_acquire);
    if (op.address != nullptr && copied_by_fork(b) && !state.is_retired() && !state.has_failed()) {
      op.address += op.offset;
      b.note_use(op.use, clock_.stamp());
      continue;
    }
    leave(batch);
    MutexLock lock{mutex_};
    throw TierError{std::make_error_code(std::errc::operation_not_permitted),
                    "the child of a fork cannot reach \"" + std::string{name_of(b)} + "\""};
  }
}

void ManagerCore::refuse_in_child(std::string_view what) const {
  if (!in_fork_child_) return;
  throw TierError{std::make_error_code(std::errc::operation_not_permitted),
                  std::string{what} + " in the child of a fork"};
}

}  // namespace tier
