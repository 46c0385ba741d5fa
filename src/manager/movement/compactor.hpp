// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Brings free room together: at once, and in the background.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "manager/state/state.hpp"
#include "manager/store/store.hpp"
#include "room.hpp"
#include "run_finder.hpp"
#include "transfers.hpp"

namespace tier {

/// How closely blocks are packed: at the alignment that huge pages prefer, or at their own.
enum class Closeness { Preferred, Tight };

/// Brings free room together. At once, it slides all blocks of a tier towards its beginning. In the background, when nothing
/// is under way, it makes only the room that a request has lacked although as much was free: the largest block of the run that
/// costs least goes to a hole elsewhere, step by step (README.md: "what is compacted in the background?").
/// \threadsafety  Under the manager's lock.
class Compactor {
 public:
  Compactor(State& state, Store& store, Transfers& transfers, RunFinder& finder) noexcept
      : state_{state}, store_{store}, transfers_{transfers}, finder_{finder} {}
  Compactor(const Compactor&) = delete;
  Compactor& operator=(const Compactor&) = delete;

  /// Moves blocks towards the start of a tier until nothing more can move.   \return  true if something moved
  bool compact(TierIndex t, Closeness closeness, MutexLock& lock);

  // --- in the background ----------------------------------------------------------------------------------

  /// Remembers a request that failed because free room is in pieces; the last one for each tier.
  void note_lack(TierIndex t, const Range& range) noexcept;
  /// Begins the next step towards that room, if nothing is under way. The end of that step calls this again.
  void compact_in_background() noexcept;
  /// Ends a background slide if the request could use its new place.   \return  true if it did
  bool stop_sliding(TierIndex t, const Range& range, MutexLock& lock);
  /// Ends a background slide of the block within its tier. If the block is retired, its slide is cancelled already, and the
  /// bytes go when that end is reported.
  void end_slide_of(const Block& b) noexcept;
  [[nodiscard]] bool is_slide(const Transfer& t) const noexcept { return &t == sliding_; }
  void transfer_ended(const Transfer& t, TierIndex to, bool became_primary) noexcept;

 private:
  /// The search for room that some request lacked in a tier.
  struct Search {
    std::optional<Range> wanted;
    std::uint64_t in_the_way = 0;  // bytes in the way of that room, fewer after each step
    BlockId reached = 0;           // the search goes on from this block
  };

  [[nodiscard]] RegionHeap::Slot resume(TierIndex t, BlockId reached) const noexcept;
  [[nodiscard]] Region* room_aside(const Block& b, TierIndex t) noexcept;
  bool slide(TierIndex t, RegionHeap::Slot hole, BlockId before, Closeness closeness, MutexLock& lock);
  bool slide_by_way_of(Region* aside, Block& b, std::uint64_t target, std::size_t alignment, BlockId before,
                       MutexLock& lock);
  bool slide_over(Block& b, RegionHeap::Slot hole, std::uint64_t target, std::size_t alignment,
                  MutexLock& lock);
  void take_place(Block& b, Region* held, std::size_t alignment) noexcept;
  bool begin_sliding(TierIndex t, const Range& range) noexcept;
  bool slide_out_of(const EvictionRun& run, TierIndex t, RegionHeap::Slot first, std::size_t slots);

  State& state_;
  Store& store_;
  Transfers& transfers_;
  RunFinder& finder_;
  std::array<Search, max_tiers> searches_{};  // by tier
  Transfer* sliding_ = nullptr;               // the one background slide within a tier
};

}  // namespace tier
