// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The regions that tiers are divided into.
#include <tier/core/mutex.hpp>
#include <tier/core/pool.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <system_error>
#include <utility>

#include "manager/state/state.hpp"
#include "range.hpp"
#include "tier_set.hpp"

namespace tier {

/// Gives regions of the tiers out and takes them back, and knows which have space behind them. A region's tier counts it as soon
/// as it is given out; space that must be asked for is asked for later, without the lock: by `take_space`, or by the transfer
/// that fills the region.
/// \threadsafety  Under the manager's lock.
class RegionStore {
 public:
  RegionStore(State& state, TierSet& tiers) : state_{state}, tiers_{tiers} {}
  RegionStore(const RegionStore&) = delete;
  RegionStore& operator=(const RegionStore&) = delete;
  /// \pre  no block is used any more
  ~RegionStore() {
    for (auto& tier : tiers_) tier.secondaries.clear();
  }

  /// Takes free room, if possible at the alignment that huge pages prefer.
  /// \return  null if there is none; `cause` is set if the system refused space or memory
  [[nodiscard]] Region* allocate(TierIndex t, std::uint64_t size, std::size_t alignment,
                                 std::error_code& cause) noexcept;
  /// The same at exactly this alignment.
  [[nodiscard]] Region* allocate_at(TierIndex t, std::uint64_t size, std::size_t alignment,
                                    std::error_code& cause) noexcept;
  /// Takes the start of a hole.   \return  null if it cannot be described or backed   \throws  `std::bad_alloc`
  [[nodiscard]] Region* allocate_in(TierIndex t, RegionHeap::Slot hole, const Range& range);
  /// Makes a region of a slot that has just been taken in its name.
  [[nodiscard]] Region* region_at(TierIndex t, RegionHeap::Slot slot, std::error_code& cause) noexcept;
  /// Describes a region for a slot that has just been taken and that its tier does not know yet.
  Region& describe(TierIndex t, RegionHeap::Slot slot) noexcept;
  /// A region without a slot; put it back, or take a slot in its name.   \throws  `std::bad_alloc`
  [[nodiscard]] Region* new_region() { return regions_.get(); }
  void put_region(Region* region) noexcept { regions_.put(region); }
  void tell_given_out(const Region& region) noexcept;
  /// Frees a region without an owner: now, or when the last transfer that reads it ends.
  void free(Region* region) noexcept;
  /// \return  the free slot that it has become part of
  RegionHeap::Slot give_back(Region* region) noexcept;
  /// Takes a region out of use for ever, because its device fails to write it.
  void condemn(Region* region) noexcept;
  /// Lets AddressSanitizer accept accesses to the region: its bytes are ours to copy, or those of an object to come.
  void allow_access(const Region& region) noexcept;

  // --- space ----------------------------------------------------------------------------------------------

  /// Notes that the region has its space: it was given, or the system pages the block's window and none need be asked for.
  void note_space(Region& region) noexcept;
  /// Asks the system for the region's space, without the lock.
  /// \param region  without an owner; freed and set to null if there is no space
  bool take_space(Region*& region, std::error_code& cause, MutexLock& lock);
  void note_high_water(TierState& state) noexcept;

  // --- further copies of blocks ---------------------------------------------------------------------------

  void attach_secondary(Block& b, Region* region, std::uint64_t version) noexcept;
  /// Takes a secondary away from its block.
  void detach(Block& b, Region* region) noexcept;
  /// Returns the block's copy in a tier where it is not used. A copy that a device still reads, for a transfer that was
  /// given up, is stale and must not be written: it is freed, and null is returned.
  Region* unread_copy(Block& b, TierIndex t) noexcept;
  /// Frees one further copy.   \return  false if there is none that can go now
  bool drop_a_secondary(TierIndex t) noexcept;

  // --- windows --------------------------------------------------------------------------------------------

  /// Gives the pages of the region in its tier back to the system.
  void make_bare(Region& region) noexcept;
  /// \param give_up  is called when the fastest tier has no room; returns true if it has freed some
  void on_shortage(std::function<bool()> give_up) { give_up_cached_ = std::move(give_up); }
  /// Counts a region as free, whose pages are in a free window; and the reverse.
  void cache(Region& region) noexcept;
  void uncache(Region& region) noexcept;

  [[nodiscard]] Bytes memory() const noexcept { return Bytes{regions_.bytes()}; }

 private:
  std::error_code claim(Region& region) noexcept;
  bool take_bare(TierIndex t, std::uint64_t offset, std::uint64_t size) noexcept;
  void give_back_bare(const Region& region) noexcept;

  State& state_;
  TierSet& tiers_;
  Pool<Region> regions_;
  std::function<bool()> give_up_cached_ = [] { return false; };
};

}  // namespace tier
