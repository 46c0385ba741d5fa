// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What the manager keeps of blocks, regions and windows. All under its lock.
#include <tier/core/config.hpp>
#include <tier/manager/block.hpp>
#include <tier/manager/object.hpp>
#include <tier/memory/region_heap.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <boost/intrusive/unordered_set.hpp>
#include <cstdint>
#include <vector>

#include "memory/windows/window_space.hpp"

namespace tier {

struct Transfer;
struct Group;

/// Says where the bytes of a region are.
enum class Pages : std::uint8_t {
  AtHome,  ///< in its tier
  Moved,   ///< its tier's pages are in the block's window
  Lent     ///< the window has pages of the system's, as many as the region gave back
};

/// One contiguous slice of one tier. While `block` is null a transfer or a room in the making owns it.
/// As an element of a list it is a secondary that may be dropped.
struct Region : boost::intrusive::list_base_hook<> {
  Block* block = nullptr;
  Region* next = nullptr;  ///< further copies of the same block
  RegionHeap::Slot slot = RegionHeap::none;
  TierIndex tier = no_tier;
  bool claimed = false;    ///< the tier counts it
  bool has_space = false;  ///< there is memory or disk space behind it: it may be used
  bool given_up = false;   ///< freed once no transfer reads it any more
  bool cached = false;     ///< free, but its pages are in a window that serves the next object of its size
  Pages pages = Pages::AtHome;
  bool bare = false;          ///< it has no pages in its tier: the system has them
  unsigned readers = 0;       ///< transfers that copy from it, given up by the block or not
  std::uint64_t version = 0;  ///< of the bytes in a secondary; a primary is current by definition
};
using RegionList = boost::intrusive::list<Region>;

/// The pages of a block that is gone, at their place in a window.
struct CachedPages {
  Region* region = nullptr;
  std::byte* window_address = nullptr;
  std::size_t size = 0;
};

/// The address space of an object with a window; released with its last block, or kept for the next object of its size.
struct ObjectWindow : boost::intrusive::list_base_hook<> {
  AddressWindow range;
  std::size_t blocks = 0;           ///< including threads that are making some
  std::vector<CachedPages> cached;  ///< the first block's pages are last

  [[nodiscard]] std::size_t cached_size() const noexcept {
    std::size_t sum = 0;
    for (const auto& pages : cached) sum += pages.size;
    return sum;
  }
};

/// The cold part of a block. As an element of a set it is ranked among the blocks whose primary is in its tier.
struct BlockRecord : boost::intrusive::set_base_hook<> {
  boost::intrusive::unordered_set_member_hook<> by_id;
  Block* block = nullptr;
  Region* regions = nullptr;  ///< the primary first
  Transfer* transfer = nullptr;
  Object* object = nullptr;  ///< the only object, unless there is a `group`
  Group* group = nullptr;
  ObjectWindow* window = nullptr;
  std::byte* window_address = nullptr;  ///< its fixed place in a window; null: it is in none
  std::uint64_t rank = 0;
  std::size_t alignment = 1;
  bool archived = false;
  bool garbage = false;     ///< retired or destroyed while early freeing is off
  bool dying = false;       ///< its object is gone: the descriptor goes with the bytes
  bool immovable = false;   ///< allocated where it stays
  bool kept = false;        ///< destroyed while pinned: the manager lives until the last unpin
  bool counted = false;     ///< in the tier's sum of placed bytes
  bool writable = false;    ///< in its window: stores go through unseen; else the first one is reported
  bool sliding = false;     ///< within a device, piece by piece, without a transfer that could be stopped
  bool remembered = false;  ///< the policy has said that in-place uses need not ask
  unsigned entering = 0;    ///< batches that are entering: the descriptor stays for them
  unsigned shielded = 0;    ///< of these, those that look for room: the block does not leave to make some
  /// The thread that has found the block pinned last, and whether another had before: `Block::found_pinned`, without the lock.
  std::uint32_t found_pinned_by = 0;
  std::uint64_t prefetched = 0;  ///< stamp of the last prefetch, while it is wanted
  std::uint64_t fetches = 0, evictions = 0, bytes_moved = 0;
#if defined(TIER_CHECKED)
  std::uint64_t sealed = 0,
                sealed_version = 0;  ///< of its contents as scopes saw them last: `scope/seals.hpp`
#endif

  [[nodiscard]] Region* primary() const noexcept { return regions; }
  [[nodiscard]] Region* in(TierIndex tier) const noexcept {
    Region* r = regions;
    while (r != nullptr && r->tier != tier) r = r->next;
    return r;
  }
  friend bool operator<(const BlockRecord& a, const BlockRecord& b) noexcept {
    return a.rank != b.rank ? a.rank < b.rank : a.block->id < b.block->id;
  }
};
using RankedBlocks = boost::intrusive::set<BlockRecord>;

}  // namespace tier
