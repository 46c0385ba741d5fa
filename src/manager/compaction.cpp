// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Brings free room together: at once, and in the background.
#include "manager_core.hpp"

#include <algorithm>
#include <utility>

namespace tier {

/// Returns where a walk over a tier goes on after the lock was released: at the block it had reached, if that still exists.
RegionHeap::Slot ManagerCore::resume(TierIndex t, BlockId reached) const noexcept {
  const Block* b = find(reached);
  const Region* region = b != nullptr ? b->record->in(t) : nullptr;
  return region != nullptr ? region->slot : tiers_[t].heap.first();
}

/// Finds room for a block to go aside for a moment, in no faster tier.
Region* ManagerCore::room_aside(const Block& b, TierIndex t) noexcept {
  std::error_code cause;
  const auto n = static_cast<TierIndex>(tiers_.size());
  for (auto other = static_cast<TierIndex>(t + 1); other < n; ++other)
    if (b.record->in(other) == nullptr)
      if (Region* r = allocate_region(other, b.size, b.record->alignment, cause)) return r;
  return allocate_region(t, b.size, b.record->alignment, cause);
}

/// Takes the start of a hole.   \return  null if it cannot be described or backed
Region* ManagerCore::region_in(TierIndex t, RegionHeap::Slot hole, const Range& range) {
  Region* region = regions_.get();
  const auto slot = tiers_[t].heap.allocate_in(hole, Bytes{range.size}, range.alignment, region);
  if (slot == RegionHeap::none) {
    regions_.put(region);
    return nullptr;
  }
  std::error_code cause;
  return region_at(t, slot, cause);
}

/// Moves the block behind a hole into it.   \pre  something is behind it
/// \param before  a block in front of the hole, if any
/// \return  true if something moved
bool ManagerCore::slide(TierIndex t, RegionHeap::Slot hole, BlockId before, Packing packing,
                        MutexLock& lock) {
  auto& heap = tiers_[t].heap;
  const auto behind = heap.next(hole);
  auto* region = static_cast<Region*>(heap.owner(behind));
  if (!may_leave(region)) return false;
  Block& b = *region->block;
  if (b.record->primary() != region) {
    detach(b, region);
    free_region(region);
    ++counts_.copies_dropped;
    return true;
  }
  auto alignment = preferred_alignment(t, b.size, b.record->alignment);
  if (packing == Packing::Tight && round_up(heap.offset(hole), alignment) >= heap.offset(behind))
    alignment = b.record->alignment;
  const auto target = round_up(heap.offset(hole), alignment);
  if (target >= heap.offset(behind)) return false;
  const BlockId id = b.id;
  if (heap.offset(hole) + heap.size(hole) < target + b.size) {
    // The two overlap. A device's bytes are moved piece by piece: that needs no room, and half as many copies.
    if (!addressable(t) && options_.clock == nullptr) return slide_over(b, hole, target, alignment, lock);
    // Others go by way of another place, if there is one: their bytes are then never between two places.
    Region* aside = room_aside(b, t);
    const bool by_itself =
        aside == nullptr && b.record->window_address == nullptr && options_.clock == nullptr;
    if (by_itself) return slide_over(b, hole, target, alignment, lock);
    if (aside == nullptr || !relocate(b, aside, Cause::Compact, lock)) return false;
    Block* now = find(id);
    if (now == nullptr) return true;
    // The hole has grown by the old place; if another thread has taken it meanwhile, the block stays where it is.
    for (auto s = resume(t, before); s != RegionHeap::none; s = heap.next(s)) {
      if (!heap.is_free(s) || heap.offset(s) > target || heap.offset(s) + heap.size(s) < target + b.size)
        continue;
      Region* back = region_in(t, s, {b.size, alignment});
      return back != nullptr && relocate(*now, back, Cause::Compact, lock);
    }
    return true;
  }
  Region* to = region_in(t, hole, {b.size, alignment});
  return to != nullptr && relocate(b, to, Cause::Compact, lock);
}

/// Moves blocks towards the start of a tier until nothing more can move. \return  true if something moved
bool ManagerCore::compact_tier(TierIndex t, Packing packing, MutexLock& lock) {
  struct Spares {
    ManagerCore& core;
    explicit Spares(ManagerCore& c) TIER_NO_THREAD_SAFETY_ANALYSIS : core{c} {
      ++core.compacting_;
      core.give_up_spares();
    }
    ~Spares() TIER_NO_THREAD_SAFETY_ANALYSIS {
      std::error_code cause;  // the next allocation reports it
      if (--core.compacting_ == 0) core.keep_spares(cause);
    }
    Spares(const Spares&) = delete;
    Spares& operator=(const Spares&) = delete;
  } const spares{*this};
  drop_cached_windows();
  stop_sliding(t, {}, lock);
  auto& heap = tiers_[t].heap;
  bool moved = false;
  std::uint64_t from = 0;  // holes before it cannot be filled
  BlockId reached = 0;     // the walk goes on from it: from the start for each block, time would be quadratic
  for (;;) {
    auto hole = resume(t, reached);
    while (hole != RegionHeap::none && (!heap.is_free(hole) || heap.offset(hole) < from))
      hole = heap.next(hole);
    if (hole == RegionHeap::none || heap.next(hole) == RegionHeap::none) return moved;
    const auto offset = heap.offset(hole);
    const auto* region = static_cast<const Region*>(heap.owner(heap.next(hole)));
    const auto before = reached;
    if (region != nullptr && region->block != nullptr && region->block->record->primary() == region)
      reached = region->block->id;
    if (slide(t, hole, before, packing, lock))
      moved = true;
    else
      from = offset + 1;
  }
}

void ManagerCore::compact() {
  if (in_fork_child_) return;
  MutexLock lock{mutex_};
  drain_notes();
  const Inside inside{*this};
  const auto tiers = static_cast<TierIndex>(tiers_.size());
  for (TierIndex t = 0; t < tiers; ++t) compact_tier(t, Packing::Preferred, lock);
}

// In the background: only when nothing is under way, and only for a request that failed because free room was in pieces.

/// Begins the next step towards that room. The end of that step calls this again.
void ManagerCore::compact_in_background() noexcept {
  if (!in_flight_.empty() || pending_rooms_ > 0 || inside_ > 0 || closed_ || options_.movers == 0) return;
  const auto n = static_cast<TierIndex>(tiers_.size());
  for (TierIndex t = 0; t < n; ++t) {
    auto& wanted = tiers_[t].scattered;
    if (wanted && !in_background(t, t)) continue;
    if (wanted && begin_sliding(t, *wanted)) return;
    wanted.reset();
  }
}

/// Takes a step towards room in one piece. A large tier is searched in parts, and the next request continues the search.
/// \return  false if the room is there, or cannot be had this way
bool ManagerCore::begin_sliding(TierIndex t, const Range& range) noexcept try {
  constexpr std::size_t part = 256;  // slots, a guess: as many as are tried as seeds for proposals
  auto& state = tiers_[t];
  const auto& heap = state.heap;
  const auto first = 2 * heap.live_regions() < part ? heap.first() : resume(t, state.reached);
  const auto run = scan(t, range, first, part, true);
  const bool nearer = run && !run->blocks.empty() && run->evicted <= state.in_the_way;
  if (nearer && slide_out_of(*run, t, first, part)) return true;
  const auto block_at = [&](RegionHeap::Slot s) -> const Block* {
    const auto* region = static_cast<const Region*>(heap.owner(s));
    return region != nullptr ? region->block : nullptr;
  };
  auto s = first;
  for (std::size_t i = 0; s != RegionHeap::none && (i < part || block_at(s) == nullptr); ++i)
    s = heap.next(s);
  state.reached = s != RegionHeap::none ? block_at(s)->id : 0;
  return false;
} catch (const std::bad_alloc&) {
  return false;
}

/// Moves the largest block of the run to the smallest hole elsewhere. Each such step leaves fewer bytes in the way, so the
/// steps come to an end; and if the largest block has no place the others do not move in vain.
bool ManagerCore::slide_out_of(const EvictionRun& run, TierIndex t, RegionHeap::Slot first,
                               std::size_t slots) {
  auto& heap = tiers_[t].heap;
  const auto by_size = [](const BlockRecord* record) { return record->block->size; };
  Block& b = *(*std::ranges::max_element(run.blocks, {}, by_size))->block;
  const auto needed = range_for(b, t);
  const auto begin = heap.offset(run.first), end = heap.offset(run.last);
  auto hole = RegionHeap::none;
  for (auto s = first; s != RegionHeap::none && slots-- > 0; s = heap.next(s)) {
    const bool inside = begin <= heap.offset(s) && heap.offset(s) <= end;
    if (!heap.is_free(s) || inside || !fits(heap, s, s, needed)) continue;
    if (hole == RegionHeap::none || heap.size(s) < heap.size(hole)) hole = s;
  }
  if (hole == RegionHeap::none) return false;
  Region* to = region_in(t, hole, needed);
  if (to == nullptr) return false;
  if (!start_moving(b)) {
    free_region(to);
    return false;
  }
  sliding_ = begin_transfer(b, TransferKind::Compact, to, Cause::Compact);
  if (sliding_ == nullptr) return false;
  sliding_->submitted = true;
  tiers_[t].in_the_way = run.evicted - b.size;
  ++counts_.compactions_begun;
  engine_.submit(*sliding_, Priority::Idle);
  return true;
}

/// Ends a background slide if the request could use its new place.   \return  true if it did
bool ManagerCore::stop_sliding(TierIndex t, const Range& range, MutexLock& lock) {
  if (sliding_ == nullptr || sliding_->to_region->tier != t) return false;
  const auto& heap = tiers_[t].heap;
  const auto is_free = [&](RegionHeap::Slot s) { return s != RegionHeap::none && heap.is_free(s); };
  auto first = sliding_->to_region->slot, last = first;
  if (is_free(heap.previous(first))) first = heap.previous(first);
  if (is_free(heap.next(last))) last = heap.next(last);
  if (!fits(heap, first, last, range)) return false;
  revoke(*sliding_, lock);
  return true;
}

}  // namespace tier
