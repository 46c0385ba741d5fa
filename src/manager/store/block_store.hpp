// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where the bytes of each block are, and how long it lives.
#include <cstddef>
#include <cstdint>

#include "catalog.hpp"
#include "fault_reserve.hpp"
#include "region_store.hpp"
#include "small_objects.hpp"
#include "tier_set.hpp"
#include "window_cache.hpp"
#include "window_pages.hpp"

namespace tier {

/// Keeps where the bytes of each block are: makes a region the primary, ranks the block among those of its tier, publishes
/// to scopes what they need to know without the lock, and frees the bytes when the block ends.
///
/// A block ends in steps: it is *retired* (its contents are dead), its bytes go with the last pin and transfer, and its
/// descriptor goes with the last batch that holds it, if its object is gone (*dying*). Where the policy does not free early, it
/// is *garbage* first, and retired when a step ends or room is scarce.
/// \threadsafety  Under the manager's lock.
class BlockStore {
 public:
  BlockStore(State& state, TierSet& tiers, RegionStore& regions, Catalog& catalog,
             SmallObjects& small_objects, FaultReserve& reserve, WindowPages& pages,
             WindowCache& windows) noexcept
      : state_{state},
        tiers_{tiers},
        regions_{regions},
        catalog_{catalog},
        small_objects_{small_objects},
        reserve_{reserve},
        pages_{pages},
        windows_{windows} {}
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;

  // --- life -----------------------------------------------------------------------------------------------

  /// Makes a block without a place.   \throws  `OutOfTierMemory`, `std::bad_alloc`; nothing has changed
  Block& add(std::uint64_t size, std::size_t alignment);
  /// Makes a region without an owner the primary; the old primary, if any, stays a current secondary.
  /// \param landed, for_stores  see `WindowPages::show`
  void set_primary(Block& b, Region* region, const std::byte* landed = nullptr,
                   bool for_stores = false) noexcept;
  /// Ends the contents: the bytes go now, or with the last pin or transfer.
  void mark_dead(Block& b) noexcept;
  /// Frees what can go by now.
  void release_if_dead(Block& b) noexcept;
  /// Frees a block that no scope has seen.
  void discard(Block& b) noexcept {
    free_contents(b);
    recycle(b);
  }
  /// Erases a block that has no regions, no transfer and no pins.
  void recycle(Block& b) noexcept;
  /// Gives a pin back.
  void leave(Block& b) noexcept;
  /// The last pin has gone without the lock.
  void last_unpinned(Block& b) noexcept;
  /// Frees the parts of a group whose objects are gone, once the group has no pins: a scope may be on one of them.
  void free_parts(Block& b) noexcept;
  /// Counts off a transfer that copies from the region.
  void stop_reading(Region* region) noexcept;

  // --- garbage --------------------------------------------------------------------------------------------

  void become_garbage(Block& b) noexcept;
  void clear_garbage(Block& b) noexcept;
  [[nodiscard]] bool has_garbage() const noexcept { return garbage_ > 0; }
  /// With early freeing off, garbage goes once the slowest tier is 80 % full.
  void reclaim_if_full() noexcept;
  /// \return  the number of blocks that were freed, or will be with their last pins
  std::size_t reclaim_garbage() noexcept;

  // --- ranks ----------------------------------------------------------------------------------------------

  [[nodiscard]] std::uint64_t rank_now(const BlockRecord& record) const noexcept;
  /// Ranks the block anew, if it is ranked.
  void rerank(Block& b) noexcept;
  /// Ranks the block. In the slowest tier, from which nothing is proposed, only garbage is ranked.
  void rank(Block& b) noexcept;
  void unrank(Block& b) noexcept;

  // --- what scopes read without the lock -------------------------------------------------------------------

  /// Sets the flags that send a use to the lock.
  void refresh(Block& b) noexcept;
  void refresh_all() noexcept;
  /// Sends every use to the lock, until the door is open again.
  void close_door() noexcept;
  void open_door() noexcept;
  /// True if the child of a fork has the block's bytes.
  [[nodiscard]] bool is_copied_by_fork(const Block& b) const noexcept;

 private:
  void free_contents(Block& b) noexcept;

  State& state_;
  TierSet& tiers_;
  RegionStore& regions_;
  Catalog& catalog_;
  SmallObjects& small_objects_;
  FaultReserve& reserve_;
  WindowPages& pages_;
  WindowCache& windows_;
  std::size_t garbage_ = 0;
  bool door_is_closed_ = false;
};

}  // namespace tier
