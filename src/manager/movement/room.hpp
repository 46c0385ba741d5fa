// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Room in the making: the run of blocks that leaves, and what has been learnt on the way.
#include <tier/memory/tier.hpp>

#include <array>
#include <bitset>
#include <cstdint>
#include <system_error>
#include <vector>

#include "manager/state/records.hpp"
#include "manager/store/range.hpp"

namespace tier {

/// Contiguous room in the making: a run of a tier whose regions are being given up one by one. Free slots are held, so
/// that no other thread takes them.
struct Room {
  TierIndex tier = no_tier;
  Range range;
  std::vector<Region*> held;
  unsigned pending = 0;  ///< transfers under way
  bool broken = false;   ///< a block of the run stays where it is
  BlockId fetch = 0;     ///< in the background: fetch this block into the room
  bool background = false;
  bool forced = false;      ///< the policy took nothing that was proposed, or what it took has no room below
  std::error_code cause{};  ///< why a block of the run could not leave
};

/// A proposal: neighbouring regions of a tier, from `first` to `last`, whose blocks would leave to make room.
struct EvictionRun {
  RegionHeap::Slot first = RegionHeap::none, last = RegionHeap::none;
  std::vector<BlockRecord*> blocks;
  std::uint64_t write_back = 0, evicted = 0, hottest = 0;
};

/// Remembers what making room in a tier has learnt of the tiers below.
struct RoomBelow {
  std::array<std::size_t, max_tiers> places{};  ///< number of blocks for which room was made at once
  std::bitset<max_tiers> none{};                ///< no more room is made there
};

/// Says why there was no room, for the message and for the decision to wait.
struct RoomReport {
  std::error_code cause{};
  bool foreign = false;    ///< pins stand in the way
  bool transient = false;  ///< transfers or rooms in the making stand in the way: they end by themselves
  bool again = false;      ///< a pin went during the look
  bool unlocked = false;   ///< the lock was released in between
  bool broken = false;     ///< a device refuses to take what is to leave
};

}  // namespace tier
