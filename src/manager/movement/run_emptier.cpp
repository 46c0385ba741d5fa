// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run_emptier.hpp"

#include <algorithm>
#include <new>

namespace tier {

RunEmptier::Result RunEmptier::begin(const EvictionRun& run, std::span<const TierIndex> to, bool inside,
                                     const RoomBelow& below, std::error_code& cause) {
  const auto& heap = store_.tiers[room_.tier].heap;
  std::size_t slots = 1;
  for (auto s = run.first; s != run.last; s = heap.next(s)) ++slots;
  room_.held.reserve(slots);
  tasks_.reserve(run.blocks.size());
  moves_.reserve(run.blocks.size());
  if (!hold_slots(run)) return give_up(Result::Changed);
  if (const auto found = find_places(run, to, inside, below, cause); found != Result::Begun)
    return give_up(found);
  for (const auto& move : moves_) start(move);
  return Result::Begun;
}

/// Undoes what `hold_slots` and `find_places` have done; further copies that were dropped stay so.
RunEmptier::Result RunEmptier::give_up(Result why) noexcept {
  for (const auto& move : moves_) {
    move.block->state.end_move();
    if (move.to != nullptr && move.to->block == nullptr) store_.regions.free(move.to);
  }
  moves_.clear();
  for (auto* region : room_.held) store_.regions.give_back(region);
  room_.held.clear();
  state_.monitor.changed();
  return why;
}

/// Holds free slots, so that destinations inside the tier fall outside the run, and takes further copies from their blocks.
/// \return  false if there is no memory to describe a held slot
bool RunEmptier::hold_slots(const EvictionRun& run) {
  auto& heap = store_.tiers[room_.tier].heap;
  const auto end = heap.offset(run.last) + heap.size(run.last);
  for (auto s = run.first; s != RegionHeap::none && heap.offset(s) < end; s = heap.next(s)) {
    if (heap.is_free(s)) {
      Region* hold = nullptr;
      try {
        hold = store_.regions.new_region();
      } catch (const std::bad_alloc&) {
        give_up(Result::Changed);
        throw;
      }
      *hold = Region{};
      hold->tier = room_.tier;
      const auto taken = heap.allocate_in(s, Bytes{heap.size(s)}, 1, hold);
      if (taken == RegionHeap::none) {
        store_.regions.put_region(hold);
        return false;
      }
      hold->slot = s = taken;
      room_.held.push_back(hold);
    } else if (auto* region = static_cast<Region*>(heap.owner(s));
               region->block != nullptr && region->block->record->primary() != region) {
      store_.regions.detach(*region->block, region);
      room_.held.push_back(region);
      ++state_.counters.totals.copies_dropped;
    }
  }
  return true;
}

/// Marks the run's blocks moving, and finds a target for each.
RunEmptier::Result RunEmptier::find_places(const EvictionRun& run, std::span<const TierIndex> to, bool inside,
                                           const RoomBelow& below, std::error_code& cause) {
  for (std::size_t i = 0; i < run.blocks.size(); ++i) {
    Block& b = *run.blocks[i]->block;
    if (!start_moving(b)) return Result::Changed;
    moves_.push_back({&b, nullptr, false});
    const auto wanted = i < to.size() ? to[i] : no_tier;
    Region* target = destination(b, wanted, inside, below, cause);
    if (target == nullptr) return Result::NoRoomBelow;
    const auto version = b.version.load(std::memory_order_relaxed);
    const bool current =
        target->block == &b && (target->version == version || mutated(Mutant::StaleRegionPublished));
    const bool lost_write = mutated(Mutant::DirtyDecidedAtFetch) && target->block == &b;
    moves_.back().copied = version != 0 && !current && !lost_write;
    moves_.back().to = target;
  }
  return Result::Begun;
}

/// Finds the target of a block of the run: its copy in that tier, or new room there. The policy's wish comes first, then
/// the tier that costs least.
/// \return  the region, or null; `lacking_` is then the tier below in which room must be made for it
Region* RunEmptier::destination(Block& b, TierIndex wanted, bool inside, const RoomBelow& below,
                                std::error_code& cause) noexcept {
  const auto source = room_.tier;
  const auto take = [&](TierIndex t) -> Region* {
    if (Region* own = t == source ? nullptr : store_.regions.unread_copy(b, t)) return own;
    return store_.regions.allocate(t, b.size, b.record->alignment, cause);
  };
  if (inside || wanted == source) {  // it stays, outside the run
    Region* r = take(source);
    if (inside || r != nullptr) return r;
  }
  auto order = finder_.order_below(b);
  if (const auto named = std::ranges::find(order, wanted); named != order.end())
    std::rotate(order.begin(), named, named + 1);
  for (const auto t : order) {
    if (Region* r = take(t)) return r;
    if (below.none[t] || !finder_.gives_way(t, b)) continue;
    lacking_ = t;
    return nullptr;
  }
  const auto left = std::ranges::find_if(order, [&](TierIndex t) { return !below.none[t]; });
  if (left != order.end()) lacking_ = *left;
  return nullptr;
}

/// Switches the block to its current copy, or begins its transfer.
void RunEmptier::start(const Move& move) noexcept {
  Block& b = *move.block;
  const bool stays = move.to->tier == room_.tier;
  const Cause why = stays ? Cause::Compact : room_.forced ? Cause::Forced : Cause::Evict;
  if (move.to->block == &b) store_.regions.detach(b, move.to);
  if (store_.pages.stays_put(b)) store_.regions.note_space(*move.to);
  Transfer* t = nullptr;
  if (!move.copied && move.to->has_space) {
    // In the background a transfer may wait for an idle core.
    const bool leaves_window =
        b.record->primary()->pages != Pages::AtHome && !store_.pages.stays_put(b) && !stays;
    if (leaves_window && !room_.background) t = transfers_.begin_clean(b, move.to, why);
    if (t == nullptr) return switch_to_copy(move, why);
  } else {
    t = transfers_.begin(b, stays ? TransferKind::Compact : TransferKind::Evict, move.to, why);
  }
  if (t == nullptr) {
    room_.broken = true;
    return;
  }
  t->room = &room_;
  ++room_.pending;
  tasks_.push_back(t);
}

void RunEmptier::switch_to_copy(const Move& move, Cause why) noexcept {
  Block& b = *move.block;
  Region* old = b.record->primary();
  store_.blocks.set_primary(b, move.to);
  store_.regions.detach(b, old);
  b.state.end_move();  // last: from here on scopes may enter
  room_.held.push_back(old);
  if (move.to->tier != room_.tier) transfers_.count_clean_eviction(b);
  MigrationEvent event{{}, b.id, room_.tier, move.to->tier, {0}, why, state_.timeline.now_ns(), 0, true};
  state_.announcer.tell(event, &Observer::on_migration);
}

}  // namespace tier
