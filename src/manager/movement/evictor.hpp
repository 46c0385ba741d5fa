// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes room.
#include <cstddef>
#include <cstdint>
#include <system_error>

#include "compactor.hpp"
#include "manager/state/state.hpp"
#include "manager/store/store.hpp"
#include "room.hpp"
#include "run_finder.hpp"
#include "transfers.hpp"

namespace tier {

/// Makes contiguous room in a tier: takes what is free, drops further copies, has a run of blocks leave, or compacts. It never
/// waits for pins. What leaves takes room below in the same way.
/// \threadsafety  Under the manager's lock.
class Evictor {
 public:
  Evictor(State& state, Store& store, Transfers& transfers, RunFinder& finder, Compactor& compactor) noexcept
      : state_{state}, store_{store}, transfers_{transfers}, finder_{finder}, compactor_{compactor} {}
  Evictor(const Evictor&) = delete;
  Evictor& operator=(const Evictor&) = delete;

  /// Takes free room, and remembers a request that failed because free room is in pieces.
  /// \param behind  set if the room does not lie where it should; null is returned then
  [[nodiscard]] Region* allocate(TierIndex t, const Range& range, bool& behind,
                                 std::error_code& cause) noexcept;
  /// Returns a region of tier `t`: free, dropped, evicted for, or compacted for.
  /// \param for_block  told to the policy
  /// \return  null if there is none. The lock may have been released in between: `report` says so.
  [[nodiscard]] Region* make_room(TierIndex t, const Range& range, BlockId for_block, RoomReport& report,
                                  MutexLock& lock);
  /// The same for a block, first where it should lie, then anywhere in the tier.
  [[nodiscard]] Region* make_room_for(const Block& b, TierIndex t, RoomReport& report, MutexLock& lock);
  /// Frees the run and takes the room from it, in one step.
  /// \return  null if a block of it had to stay, or the tier cannot back it
  [[nodiscard]] Region* finish_room(Room& room, std::error_code& cause) noexcept;
  /// Reports what stands in the way of more room, and asks to be told when pins go.
  [[nodiscard]] RoomReport survey() noexcept;

 private:
  class Search;

  [[nodiscard]] std::size_t room_below(const EvictionRun& run, TierIndex t, std::size_t count,
                                       BlockId for_block, RoomReport& report, MutexLock& lock);
  bool revoke_unawaited(TierIndex t, MutexLock& lock);

  State& state_;
  Store& store_;
  Transfers& transfers_;
  RunFinder& finder_;
  Compactor& compactor_;
};

}  // namespace tier
