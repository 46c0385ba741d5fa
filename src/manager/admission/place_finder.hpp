// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where a new block begins.
#include <tier/core/mutex.hpp>
#include <tier/policy/policy.hpp>

#include <cstdint>
#include <string_view>

#include "manager/movement/movement.hpp"
#include "manager/state/state.hpp"
#include "manager/store/store.hpp"

namespace tier {

/// Finds the first region of a block: where the policy wants it, otherwise where there is room. Blocks that cannot leave are
/// never in the way for long: it waits for transfers, and never for pins, because its caller may hold them.
/// \threadsafety  Under the manager's lock, which it may release in between.
class PlaceFinder {
 public:
  PlaceFinder(State& state, Store& store, Movement& movement) noexcept
      : state_{state}, store_{store}, movement_{movement} {}
  PlaceFinder(const PlaceFinder&) = delete;
  PlaceFinder& operator=(const PlaceFinder&) = delete;

  /// Asks the policy where a block begins.
  [[nodiscard]] Placement ask_policy(const Block& b, std::string_view name);
  /// \return  a region without an owner   \throws  `OutOfTierMemory`
  [[nodiscard]] Region* find(const Block& b, std::string_view name, MutexLock& lock);
  /// The same for a block that never moves, in this tier alone.
  [[nodiscard]] Region* find_fixed(const Block& b, TierIndex t, std::string_view name, MutexLock& lock);
  /// Makes sure that enough room is left for bringing blocks out of the CPU's reach.
  /// \param sum   bytes to come   \param largest  of the largest block among them that may move
  /// \return  true if the lock was released   \throws  `OutOfTierMemory`
  bool leave_room_for_faults(std::uint64_t sum, std::uint64_t largest, std::string_view name,
                             MutexLock& lock);

 private:
  [[nodiscard]] Region* take_free(const Block& b, TierIndex t, std::error_code& cause, MutexLock& lock);
  [[nodiscard]] Region* make(const Block& b, TierIndex t, RoomReport& report, MutexLock& lock);
  bool wait_for_room(MutexLock& lock);

  State& state_;
  Store& store_;
  Movement& movement_;
};

}  // namespace tier
