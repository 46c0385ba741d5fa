// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The cold parts: what the manager keeps of blocks, regions, transfers and rooms. All under its lock.
#include <tier/copy/copy_engine.hpp>
#include <tier/core/config.hpp>
#include <tier/manager/block.hpp>
#include <tier/manager/object.hpp>
#include <tier/memory/region_heap.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <cstdint>
#include <vector>

#include "memory/windows/window_space.hpp"
#include "small_objects.hpp"
#include "space_refusals.hpp"

namespace tier {

struct Transfer;
struct Room;
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

enum class TransferKind : std::uint8_t {
  Fetch,   ///< to a faster tier, which becomes the primary's
  Evict,   ///< to a slower tier, which becomes the primary's; the old region goes
  Clean,   ///< to a slower tier, which then holds a current copy
  Compact  ///< within a tier
};

class ManagerCore;

/// Buffers where small blocks arrive on their way to a window. They are few and reused, so that they cost no page faults.
struct Landings {
  static constexpr std::size_t count = 32;
  alignas(WindowSpace::unit) std::array<std::array<std::byte, WindowSpace::unit>, count> buffers;
  std::array<std::byte*, count> free;
  std::size_t free_count = 0;
};

/// Describes a transfer of one block. Owns `to_region` until it has ended.
struct Transfer final : CopyTask, boost::intrusive::list_base_hook<> {
  Transfer(ManagerCore& core, Block& b, TransferKind k, Cause c) noexcept
      : manager{core}, block{&b}, moved{b.id}, kind{k}, cause{c} {}
  std::error_code prepare(std::uint64_t offset, std::uint64_t size) noexcept override;
  void finished(std::error_code error, bool cancelled) noexcept override;

  ManagerCore& manager;
  Block* block;  ///< null once the block has given it up (orphaned)
  BlockId moved;
  TransferKind kind;
  Cause cause;
  Region* to_region = nullptr;
  Region* from_region = nullptr;  ///< not freed before the end, whatever it belongs to
  TierIndex from_tier = no_tier;
  std::uint64_t version = 0;  ///< of the block at the start
  std::uint64_t start_ns = 0;
  std::byte* landing = nullptr;              ///< where the bytes for a window arrive; null: in `to_region`
  const PagePolicy* window_pages = nullptr;  ///< of the tier whose pages, in the window, are read
  std::uint64_t space = 0;  ///< bytes of space to ask for before bytes move; 0: the target has its space
  SpaceRefusals* refusals = nullptr;    ///< of the target's tier
  std::atomic<bool> unprepared{false};  ///< space or pages were refused: neither side is to blame
  bool delivering = false;              ///< bytes are being copied to the window: not to be given up
  bool delivered = false;               ///< bytes are in the window, but are not published yet
  Room* room = nullptr;                 ///< the room that waits for the old region
  unsigned references = 1;              ///< 1 for being in flight, 1 for each thread that waits for it
  bool awaited = false;                 ///< a scope depends on it: not to be cancelled for room
  bool submitted = false;               ///< to the movers
  bool hurried = false;                 ///< a thread without room has helped with it
  bool ended = false;
  std::error_code failure{};  ///< valid once it has ended
};

using TransferList = boost::intrusive::list<Transfer>;

/// A prefetch for which many blocks must leave, begun by a mover instead of the calling thread.
struct LaterFetch final : CopyTask {
  LaterFetch(ManagerCore& core, BlockId id) noexcept : manager{core}, block{id} {}
  void finished(std::error_code error, bool cancelled) noexcept override;

  ManagerCore& manager;
  BlockId block;
};

/// A request for bytes of a tier in one piece.
struct Range {
  std::uint64_t size = 0;
  std::size_t alignment = 1;
  std::uint64_t end = ~std::uint64_t{0};  ///< it lies before this offset
  bool in_window = false;                 ///< for a block in a window
};

/// True if the range fits into these slots and those between them.
inline bool fits(const RegionHeap& heap, RegionHeap::Slot first, RegionHeap::Slot last, const Range& range) {
  const auto start = round_up(heap.offset(first), range.alignment);
  return start + range.size <= std::min(range.end, heap.offset(last) + heap.size(last));
}

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
  bool forced = false;      ///< the policy offered nothing
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
