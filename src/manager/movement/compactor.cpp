// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compactor.hpp"

#include <tier/core/assert.hpp>

#include <algorithm>
#include <utility>

#include "overlapping_slide.hpp"

namespace tier {

bool Compactor::compact(TierIndex t, Closeness closeness, MutexLock& lock) {
  const FaultReserve::UsesSpares uses{store_.reserve};
  store_.windows.drop_all();
  stop_sliding(t, {}, lock);
  auto& heap = store_.tiers[t].heap;
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
    if (slide(t, hole, before, closeness, lock))
      moved = true;
    else
      from = offset + 1;
  }
}

/// Returns where a walk over a tier goes on after the lock was released: at the block it had reached, if that still exists.
RegionHeap::Slot Compactor::resume(TierIndex t, BlockId reached) const noexcept {
  const Block* b = store_.catalog.find(reached);
  const Region* region = b != nullptr ? b->record->in(t) : nullptr;
  return region != nullptr ? region->slot : store_.tiers[t].heap.first();
}

/// Finds room for a block to go aside for a moment, in no faster tier.
Region* Compactor::room_aside(const Block& b, TierIndex t) noexcept {
  std::error_code cause;
  const auto n = store_.tiers.count();
  for (auto other = static_cast<TierIndex>(t + 1); other < n; ++other)
    if (b.record->in(other) == nullptr)
      if (Region* r = store_.regions.allocate(other, b.size, b.record->alignment, cause)) return r;
  return store_.regions.allocate(t, b.size, b.record->alignment, cause);
}

/// Moves the block behind a hole into it.   \pre  something is behind it
/// \param before  a block in front of the hole, if any
/// \return  true if something moved
bool Compactor::slide(TierIndex t, RegionHeap::Slot hole, BlockId before, Closeness closeness,
                      MutexLock& lock) {
  auto& heap = store_.tiers[t].heap;
  const auto behind = heap.next(hole);
  auto* region = static_cast<Region*>(heap.owner(behind));
  if (!RunFinder::may_leave(region)) return false;
  Block& b = *region->block;
  if (b.record->primary() != region) {
    store_.regions.detach(b, region);
    store_.regions.free(region);
    ++state_.counters.totals.copies_dropped;
    return true;
  }
  auto alignment = store_.tiers.preferred_alignment(t, b.size, b.record->alignment);
  if (closeness == Closeness::Tight && round_up(heap.offset(hole), alignment) >= heap.offset(behind))
    alignment = b.record->alignment;
  const auto target = round_up(heap.offset(hole), alignment);
  if (target >= heap.offset(behind)) return false;
  if (heap.offset(hole) + heap.size(hole) >= target + b.size) {
    Region* to = store_.regions.allocate_in(t, hole, {b.size, alignment});
    return to != nullptr && transfers_.relocate(b, to, Cause::Compact, lock);
  }
  // The two overlap. A device's bytes are moved piece by piece: that needs no room, and half as many copies. Others go by way
  // of another place, if there is one: their bytes are then never between two places.
  const bool can_slide_over = state_.options.clock == nullptr;
  if (can_slide_over && !store_.tiers.addressable(t)) return slide_over(b, hole, target, alignment, lock);
  Region* aside = room_aside(b, t);
  if (aside != nullptr) return slide_by_way_of(aside, b, target, alignment, before, lock);
  return can_slide_over && b.record->window_address == nullptr &&
         slide_over(b, hole, target, alignment, lock);
}

/// Moves the block aside, and from there to the target.   \return  true if something moved
bool Compactor::slide_by_way_of(Region* aside, Block& b, std::uint64_t target, std::size_t alignment,
                                BlockId before, MutexLock& lock) {
  const BlockId id = b.id;
  const TierIndex t = b.record->primary()->tier;
  const auto& heap = store_.tiers[t].heap;
  if (!transfers_.relocate(b, aside, Cause::Compact, lock)) return false;
  Block* now = store_.catalog.find(id);
  if (now == nullptr) return true;
  // The hole has grown by the old place; if another thread has taken it meanwhile, the block stays where it is.
  for (auto s = resume(t, before); s != RegionHeap::none; s = heap.next(s)) {
    if (!heap.is_free(s) || heap.offset(s) > target || heap.offset(s) + heap.size(s) < target + b.size)
      continue;
    Region* back = store_.regions.allocate_in(t, s, {b.size, alignment});
    return back != nullptr && transfers_.relocate(*now, back, Cause::Compact, lock);
  }
  return true;
}

/// \param hole    in front of the block's region   \param target  where in the hole the block is to begin
/// \return        true if the block has moved, or has changed or gone meanwhile
bool Compactor::slide_over(Block& b, RegionHeap::Slot hole, std::uint64_t target, std::size_t alignment,
                           MutexLock& lock) {
  Region* const from = b.record->primary();
  const TierIndex t = from->tier;
  const auto& heap = store_.tiers[t].heap;
  const BlockId id = b.id;
  const bool in_tier =
      !store_.pages.stays_put(b);  // or else its bytes are in its window, and the region only counts them
  const auto size = in_tier ? store_.tiers.copied_size(b, t, t) : 0;
  OverlappingSlide slide{*store_.tiers[t].tier, heap.offset(from->slot), target, size};
  Region* held = store_.regions.allocate_in(t, hole, {heap.size(hole)});
  std::error_code cause;
  if (held != nullptr && !in_tier) store_.regions.note_space(*held);
  if (held == nullptr || !store_.regions.take_space(held, cause, lock)) return false;
  const bool same =
      store_.catalog.find(id) == &b && b.record->primary() == from && RunFinder::may_leave(from);
  if (!same || !start_moving(b)) {
    store_.regions.free(held);
    return !same;
  }
  b.record->sliding = true;
  ++b.record->entering;  // the descriptor stays
  ++from->readers;       // and so does the region
  store_.regions.allow_access(*from);
  store_.regions.allow_access(*held);
  bool moved = false;
  const auto began = state_.timeline.now_ns();
  state_.monitor.without_lock(lock, [&] { moved = size == 0 || slide.run(); });
  b.record->sliding = false;
  --b.record->entering;
  if (slide.is_lost()) b.state.fail();
  const bool lives = b.record->primary() == from;
  if (moved && lives) {
    take_place(b, held, alignment);
    state_.counters.add_moved(t, t, Cause::Compact, size, 1);
    state_.announcer.tell_observers(
        MigrationEvent{{}, id, t, t, {size}, Cause::Compact, began, state_.timeline.now_ns() - began, true},
        &Observer::on_migration);
  } else {
    store_.regions.free(held);
    store_.blocks.stop_reading(from);  // frees it if the block was retired meanwhile
  }
  b.state.end_move();
  store_.blocks.release_if_dead(b);
  state_.monitor.changed();
  return moved || !lives;
}

/// Makes a region for the block's bytes, which have been moved to the beginning of the held range and their old place.
void Compactor::take_place(Block& b, Region* held, std::size_t alignment) noexcept {
  Region* const from = b.record->primary();
  Region* const copies = from->next;
  const TierIndex t = from->tier;
  const auto pages = from->pages;
  const bool bare = from->bare;
  auto& state = store_.tiers[t];
  const auto target = round_up(state.heap.offset(held->slot), alignment), size = state.heap.size(from->slot);
  state.tier->claim(target, size);  // otherwise its space might go back to the system in between
  store_.blocks.unrank(b);
  --from->readers;
  // Room in front that has become free meanwhile must not merge with it.
  const auto before = state.heap.previous(held->slot);
  const bool free_before = before != RegionHeap::none && state.heap.is_free(before);
  const auto guard = free_before ? state.heap.allocate_in(before, Bytes{state.heap.size(before)}, 1, held)
                                 : RegionHeap::none;
  store_.regions.give_back(held);
  const auto merged = store_.regions.give_back(from);
  Region* const described = store_.regions.new_region();  // one of those that were just given back
  const auto slot = state.heap.allocate_in(merged, Bytes{b.size}, alignment, described);
  TIER_VERIFY(slot != RegionHeap::none && state.heap.offset(slot) == target,
              "the free space and the block's own must have room for it");
  if (guard != RegionHeap::none) state.heap.free(guard);
  Region& region = store_.regions.describe(t, slot);
  region.claimed = region.has_space = true;
  region.block = &b;
  region.next = copies;
  b.record->regions = &region;
  region.pages = pages;
  region.bare = bare;
  if (b.record->window_address == nullptr && state.tier->base() != nullptr)
    b.address.store(store_.tiers.home(region), std::memory_order_release);
  store_.regions.tell_given_out(region);
  store_.blocks.rank(b);
  store_.blocks.refresh(b);
}

void Compactor::note_lack(TierIndex t, const Range& range) noexcept {
  searches_[t].wanted = range;
  searches_[t].in_the_way = ~std::uint64_t{0};
}

void Compactor::transfer_ended(const Transfer& t, TierIndex to, bool became_primary) noexcept {
  if (!is_slide(t)) return;
  sliding_ = nullptr;
  if (!became_primary) searches_[to].wanted.reset();  // the block is in use: another step would fail, too
}

void Compactor::compact_in_background() noexcept {
  if (!transfers_.is_idle() || state_.monitor.has_calls() || state_.lifetime.is_closed() ||
      state_.options.movers == 0)
    return;
  const auto n = store_.tiers.count();
  for (TierIndex t = 0; t < n; ++t) {
    auto& wanted = searches_[t].wanted;
    if (wanted && !transfers_.in_background(t, t)) continue;
    if (wanted && begin_sliding(t, *wanted)) return;
    wanted.reset();
  }
}

/// Takes a step towards room in one piece. A large tier is searched in parts, and the next request continues the search.
/// \return  false if the room is there, or cannot be had this way
bool Compactor::begin_sliding(TierIndex t, const Range& range) noexcept try {
  constexpr std::size_t part = 256;  // slots, a guess: as many as are tried as seeds for proposals
  auto& search = searches_[t];
  const auto& heap = store_.tiers[t].heap;
  const auto first = 2 * heap.live_regions() < part ? heap.first() : resume(t, search.reached);
  const auto run = finder_.scan_for_slide(t, range, first, part);
  const bool nearer = run && !run->blocks.empty() && run->evicted <= search.in_the_way;
  if (nearer && slide_out_of(*run, t, first, part)) return true;
  const auto block_at = [&](RegionHeap::Slot s) -> const Block* {
    const auto* region = static_cast<const Region*>(heap.owner(s));
    return region != nullptr ? region->block : nullptr;
  };
  auto s = first;
  for (std::size_t i = 0; s != RegionHeap::none && (i < part || block_at(s) == nullptr); ++i)
    s = heap.next(s);
  search.reached = s != RegionHeap::none ? block_at(s)->id : 0;
  return false;
} catch (const std::bad_alloc&) {
  return false;
}

/// Moves the largest block of the run to the smallest hole elsewhere. Each such step leaves fewer bytes in the way, so the
/// steps come to an end; and if the largest block has no place the others do not move in vain.
bool Compactor::slide_out_of(const EvictionRun& run, TierIndex t, RegionHeap::Slot first, std::size_t slots) {
  auto& heap = store_.tiers[t].heap;
  const auto by_size = [](const BlockRecord* record) { return record->block->size; };
  Block& b = *(*std::ranges::max_element(run.blocks, {}, by_size))->block;
  const auto needed = store_.reserve.range_for(b, t);
  const auto begin = heap.offset(run.first), end = heap.offset(run.last);
  auto hole = RegionHeap::none;
  for (auto s = first; s != RegionHeap::none && slots-- > 0; s = heap.next(s)) {
    const bool inside = begin <= heap.offset(s) && heap.offset(s) <= end;
    if (!heap.is_free(s) || inside || !fits(heap, s, s, needed)) continue;
    if (hole == RegionHeap::none || heap.size(s) < heap.size(hole)) hole = s;
  }
  if (hole == RegionHeap::none) return false;
  Region* to = store_.regions.allocate_in(t, hole, needed);
  if (to == nullptr) return false;
  if (!start_moving(b)) {
    store_.regions.free(to);
    return false;
  }
  sliding_ = transfers_.begin(b, TransferKind::Compact, to, Cause::Compact);
  if (sliding_ == nullptr) return false;
  searches_[t].in_the_way = run.evicted - b.size;
  ++state_.counters.totals.compactions_begun;
  transfers_.submit(*sliding_, Priority::Idle);
  return true;
}

bool Compactor::stop_sliding(TierIndex t, const Range& range, MutexLock& lock) {
  if (sliding_ == nullptr || sliding_->to_region->tier != t) return false;
  const auto& heap = store_.tiers[t].heap;
  const auto is_free = [&](RegionHeap::Slot s) { return s != RegionHeap::none && heap.is_free(s); };
  auto first = sliding_->to_region->slot, last = first;
  if (is_free(heap.previous(first))) first = heap.previous(first);
  if (is_free(heap.next(last))) last = heap.next(last);
  if (!fits(heap, first, last, range)) return false;
  transfers_.revoke(*sliding_, lock);
  return true;
}

void Compactor::end_slide_of(const Block& b) noexcept {
  if (sliding_ == nullptr || b.record->transfer != sliding_) return;
  if (b.state.now().is_retired()) return;
  state_.engine.cancel(*sliding_);
  transfers_.orphan(*sliding_);
}

}  // namespace tier
