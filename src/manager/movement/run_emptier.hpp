// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How the blocks of a run leave.
#include <tier/copy/copy_engine.hpp>

#include <cstdint>
#include <span>
#include <system_error>
#include <vector>

#include "manager/state/state.hpp"
#include "manager/store/store.hpp"
#include "room.hpp"
#include "run_finder.hpp"
#include "transfers.hpp"

namespace tier {

/// Begins to give up one run: holds its free slots, drops further copies, switches clean blocks to their slower copies, and
/// begins the transfers of dirty ones. All of it happens under one hold of the lock, or nothing.
/// \threadsafety  Under the manager's lock.
class RunEmptier {
 public:
  enum class Result { Begun, NoRoomBelow, Changed };

  /// \param room  receives the regions as they become free; outlives the transfers
  RunEmptier(State& state, Store& store, Transfers& transfers, RunFinder& finder, Room& room) noexcept
      : state_{state}, store_{store}, transfers_{transfers}, finder_{finder}, room_{room} {}
  RunEmptier(const RunEmptier&) = delete;
  RunEmptier& operator=(const RunEmptier&) = delete;

  /// \param to      the policy's wish for each block; or empty
  /// \param inside  blocks stay in the tier, outside the run
  /// \param below   tiers in which no more room is made
  /// \param cause   set to what a tier below refused
  /// \return        `NoRoomBelow`, or `Changed` if a block is in use by now: nothing has changed
  /// \throws        `std::bad_alloc`; nothing has changed
  [[nodiscard]] Result begin(const EvictionRun& run, std::span<const TierIndex> to, bool inside,
                             const RoomBelow& below, std::error_code& cause);

  /// The transfers that the caller runs or submits, once begun.
  [[nodiscard]] const std::vector<CopyTask*>& tasks() const noexcept { return tasks_; }
  /// The tier below in which room must be made first; none if there is no such tier.
  [[nodiscard]] TierIndex lacking() const noexcept { return lacking_; }

 private:
  struct Move {
    Block* block;
    Region* to;
    bool copied;
  };

  [[nodiscard]] bool hold_slots(const EvictionRun& run);
  [[nodiscard]] Result find_places(const EvictionRun& run, std::span<const TierIndex> to, bool inside,
                                   const RoomBelow& below, std::error_code& cause);
  [[nodiscard]] Region* destination(Block& b, TierIndex wanted, bool inside, const RoomBelow& below,
                                    std::error_code& cause) noexcept;
  void start(const Move& move) noexcept;
  void switch_to_copy(const Move& move, Cause why) noexcept;
  Result give_up(Result why) noexcept;

  State& state_;
  Store& store_;
  Transfers& transfers_;
  RunFinder& finder_;
  Room& room_;
  std::vector<Move> moves_;
  std::vector<CopyTask*> tasks_;
  TierIndex lacking_ = no_tier;
};

}  // namespace tier
