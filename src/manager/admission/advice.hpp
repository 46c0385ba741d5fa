// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Scopes on windows: which blocks are brought, as far as they fit.
#include <tier/manager/manager.hpp>

#include <atomic>
#include <cstdint>
#include <span>

#include "gate.hpp"
#include "hints.hpp"
#include "manager/state/state.hpp"
#include "manager/store/store.hpp"
#include "objects.hpp"

namespace tier {

/// Bytes of the fastest tier that advice has pinned, and the most that it may pin, so that faults always find room.
struct AdviceBudget {
  std::atomic<std::uint64_t>& advised;
  const std::uint64_t& limit;
};

/// Enters advice: operands that are blocks of windows, which the program may also use without a scope. What fits is brought,
/// many blocks at once; what does not is skipped without an error. Where not all fits, the blocks come first that the policy
/// would let go last.
/// \threadsafety  Takes the manager's lock.
class Advice {
 public:
  Advice(State& state, Store& store, Hints& hints, Objects& objects, Gate& gate, AdviceBudget budget) noexcept
      : state_{state}, store_{store}, hints_{hints}, objects_{objects}, gate_{gate}, budget_{budget} {}
  Advice(const Advice&) = delete;
  Advice& operator=(const Advice&) = delete;

  /// Enters a batch that contains advice. Other operands enter all or none.
  /// \throws  as `Gate::enter`, also `TierError` for advice on a retired object that the caller has named
  void enter(std::span<Operand> batch, const BatchContext& context);
  /// Keeps the block's descriptor until it is released.
  void hold(Block& b) noexcept;
  void release(Block& b) noexcept;

 private:
  void revive_overwritten(std::span<const Operand> advised);
  void bring(std::span<Operand> advised, const BatchContext& context) noexcept;
  [[nodiscard]] bool has_room_for(std::span<const Operand> wanted) noexcept;
  void best_first(std::span<Operand> wanted) noexcept;
  bool bring_all(std::span<Operand> few, const BatchContext& context) noexcept;
  bool bring_together(std::span<Operand> wanted, const BatchContext& context) noexcept;

  State& state_;
  Store& store_;
  Hints& hints_;
  Objects& objects_;
  Gate& gate_;
  const AdviceBudget budget_;
};

}  // namespace tier
