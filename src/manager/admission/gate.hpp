// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The way into blocks for scopes that need more than a pin.
#include <tier/manager/manager.hpp>

#include <span>

#include "hints.hpp"
#include "manager/movement/movement.hpp"
#include "manager/state/state.hpp"
#include "manager/store/store.hpp"
#include "place_finder.hpp"
#include "waiting_line.hpp"

namespace tier {

/// Lets the operands of a scope, an access, or advice into their blocks: all of a batch or none. `Entry` carries one batch
/// in; the gate has what batches share, that is, the line in which they wait for room.
/// \threadsafety  Takes the manager's lock.
class Gate {
 public:
  Gate(State& state, Store& store, Movement& movement, Hints& hints, PlaceFinder& places) noexcept
      : state_{state}, store_{store}, movement_{movement}, hints_{hints}, places_{places} {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Fetches, makes room, pins. Operands without a block count as entered; those that have entered already stay so.
  /// \throws  `OutOfTierMemory`, `TierError`, `std::bad_alloc`; nothing is entered then, but advice stays held
  void enter(std::span<Operand> batch, const BatchContext& context);

 private:
  void charge_in_place(const Operand& op, TierIndex t) noexcept;

  State& state_;
  Store& store_;
  Movement& movement_;
  Hints& hints_;
  PlaceFinder& places_;
  WaitingLine line_;  // of root scopes
};

}  // namespace tier
