// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gate.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "entrant.hpp"
#include "entry.hpp"
#include "manager/movement/watermarks.hpp"

namespace tier {
namespace {

/// Takes the operands that have a block.   \throws  `std::bad_alloc`
void collect(std::span<Operand> batch, Entrants& entrants) {
  entrants.reserve(batch.size());
  for (auto& op : batch) {
    if (op.block == nullptr) continue;
    Entrant e;
    e.op = op;
    e.caller = &op;
    // A block that the batch also reads keeps its bytes.
    const auto needs_bytes = [&](const Operand& other) {
      return other.block == op.block && other.use != Use::Overwrite;
    };
    if (op.use == Use::Overwrite && std::ranges::any_of(batch, needs_bytes)) e.op.use = Use::Update;
    e.repeats =
        std::ranges::any_of(entrants, [&](const Entrant& earlier) { return earlier.op.block == op.block; });
    entrants.push_back(e);
  }
}

void hand_back(const Entrants& entrants) noexcept {
  for (const auto& e : entrants) *e.caller = e.op;
}

}  // namespace

void Gate::enter(std::span<Operand> batch, const BatchContext& context) {
  for (auto& op : batch) op.entered |= op.block == nullptr;
  if (std::ranges::all_of(batch, &Operand::entered)) return;
  const auto self = state_.lifetime.owner();  // all objects may go while a scope waits
  const PolicyFailure::Tells tells{state_.policy_failure};
  Entrants entrants;
  try {
    collect(batch, entrants);
    MutexLock lock{state_.monitor.mutex()};
    hints_.drain_own();
    state_.clock.advance();
    const CallInProgress call{state_, store_, movement_.compactor};
    Entry entry{state_,  store_, movement_, hints_, places_, line_, {entrants.data(), entrants.size()},
                context, lock};
    entry.run();
    check_watermarks(state_, store_);
  } catch (...) {
    hand_back(entrants);
    for (auto& op : batch)  // leaves what entered without the lock; advice that did not enter stays held
      if (std::exchange(op.entered, false) && op.block != nullptr) Manager::leave(op);
    const MutexLock lock{state_.monitor.mutex()};
    std::ignore = state_.lifetime.needless_keeper();
    throw;
  }
  hand_back(entrants);
  for (const auto& e : entrants) charge_in_place(e.op, e.tier);
}

/// Charges an emulated device's time for the whole object, whatever part of it the scope will touch.
void Gate::charge_in_place(const Operand& op, TierIndex t) noexcept {
  if (t == no_tier || !store_.tiers[t].tier->charges()) return;
  const auto now = std::chrono::steady_clock::now();
  if (op.use != Use::Overwrite) store_.tiers[t].tier->charge(Direction::Read, op.size, 1, now);
  if (op.use != Use::Read) store_.tiers[t].tier->charge(Direction::Write, op.size, 1, now);
}

}  // namespace tier
