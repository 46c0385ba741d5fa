// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Making room: proposals, eviction of runs.
#include "manager_core.hpp"

#include <tier/core/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <utility>

namespace tier {
namespace {

constexpr std::size_t most_proposals = 8;  // a guess: enough that a cheap neighbourhood is among them
constexpr std::size_t seeds_tried = 256;   // before the whole heap is scanned
constexpr int attempts = 64;      // others may take or pin freed room; each such loss is their progress
constexpr int failed_writes = 3;  // in one call, before a tier counts as broken

/// True for the errors of a file system that has no space left, or gives this user or process no more.
bool is_of_space(const std::error_code& cause) noexcept {
  return cause == std::errc::no_space_on_device || cause == std::errc::file_too_large ||
         cause == std::error_code{EDQUOT, std::generic_category()};
}

}  // namespace

/// True if the region could be given up: a secondary, or the primary of a block that may move.
bool ManagerCore::may_leave(const Region* region) const noexcept {
  if (region == nullptr || region->block == nullptr || region->readers > 0) return false;
  const auto& record = *region->block->record;
  if (record.primary() != region) return true;
  const auto state = region->block->state.now();
  const bool pinned = state.is_pinned() && !mutated(Mutant::PinIgnored);
  return !pinned && !state.is_moving() && !state.is_retired() && !state.has_failed() && !record.immovable &&
         record.shielded == 0;
}

/// True if the region may be slid within its tier in the background. Secondary copies are not worth moving, and moving a
/// windowed block would stall stores.
bool ManagerCore::may_slide(const Region* region) const noexcept {
  return may_leave(region) && region->block->record->primary() == region &&
         region->block->record->window_address == nullptr;
}

/// Fills in the cost of giving up the run.
void ManagerCore::describe(EvictionRun& w, TierIndex t) const {
  const auto& heap = tiers_[t].heap;
  w.blocks.clear();
  w.write_back = w.evicted = w.hottest = 0;
  for (auto slot = w.first;; slot = heap.next(slot)) {
    const auto* region = static_cast<const Region*>(heap.owner(slot));
    if (region != nullptr && region->block->record->primary() == region) {
      BlockRecord& record = *region->block->record;
      w.blocks.push_back(&record);
      w.evicted += region->block->size;
      if (dirty(*region->block)) w.write_back += region->block->size;
      w.hottest = std::max(w.hottest, record.rank);
    }
    if (slot == w.last) return;
  }
}

/// Grows a run around a slot, towards the free or colder side, until the size fits. If it cannot fit, `w` is the whole
/// stretch between two regions that stay.
bool ManagerCore::grow(EvictionRun& w, TierIndex t, RegionHeap::Slot seed, const Range& range) const {
  const auto& heap = tiers_[t].heap;
  w.first = w.last = seed;
  const auto cost = [&](RegionHeap::Slot slot)
                        TIER_NO_THREAD_SAFETY_ANALYSIS -> std::optional<std::uint64_t> {
    if (slot == RegionHeap::none) return std::nullopt;
    if (heap.is_free(slot)) return 0;
    const auto* region = static_cast<const Region*>(heap.owner(slot));
    if (!may_leave(region)) return std::nullopt;
    return region->block->record->primary() == region ? region->block->record->rank : 0;
  };
  while (!fits(heap, w.first, w.last, range)) {
    const auto left = cost(heap.previous(w.first));
    const auto right = cost(heap.next(w.last));
    if (!left && !right) return false;
    if (!right || (left && *left <= *right))
      w.first = heap.previous(w.first);
    else
      w.last = heap.next(w.last);
  }
  // The last slot that was added may have made slots at the other end needless.
  while (w.first != w.last && fits(heap, w.first, heap.previous(w.last), range))
    w.last = heap.previous(w.last);
  while (w.first != w.last && fits(heap, heap.next(w.first), w.last, range)) w.first = heap.next(w.first);
  describe(w, t);
  return true;
}

/// Finds the run that moves the fewest bytes, by a pass over the whole heap.
std::optional<EvictionRun> ManagerCore::scan(TierIndex t, const Range& range) const {
  return scan(t, range, tiers_[t].heap.first(), ~std::size_t{0}, false);
}

/// The same, by a pass over `slots` slots.
/// \param background  considers only regions that may slide
std::optional<EvictionRun> ManagerCore::scan(TierIndex t, const Range& range, RegionHeap::Slot first,
                                             std::size_t slots, bool background) const {
  const auto& heap = tiers_[t].heap;
  std::optional<EvictionRun> best;
  std::uint64_t best_bytes = 0, bytes = 0;
  const auto weight = [&](RegionHeap::Slot slot) {
    const auto* region = static_cast<const Region*>(heap.owner(slot));
    return region == nullptr || region->block->record->primary() != region ? 0 : region->block->size;
  };
  const auto stays = [&](RegionHeap::Slot slot) TIER_NO_THREAD_SAFETY_ANALYSIS {
    const auto* region = static_cast<const Region*>(heap.owner(slot));
    return !heap.is_free(slot) && !(background ? may_slide(region) : may_leave(region));
  };
  for (auto last = first; last != RegionHeap::none && slots-- > 0; last = heap.next(last)) {
    if (stays(last)) {
      first = heap.next(last);
      bytes = 0;
      continue;
    }
    bytes += weight(last);
    while (first != last && fits(heap, heap.next(first), last, range)) {
      bytes -= weight(first);
      first = heap.next(first);
    }
    if (!fits(heap, first, last, range)) continue;
    if (best && best_bytes <= bytes) continue;
    best = EvictionRun{first, last, {}, 0, 0, 0};
    best_bytes = bytes;
  }
  if (best) describe(*best, t);
  return best;
}

/// Proposes runs to the policy. \param forced  set if the policy took none and the manager chose
std::optional<EvictionRun> ManagerCore::propose(TierIndex t, const Range& range, BlockId for_block,
                                                bool background, std::vector<TierIndex>& to, bool& forced) {
  auto& state = tiers_[t];
  struct Proposal {
    EvictionRun eviction;
    std::vector<BlockFacts> blocks;
    [[nodiscard]] Run run() const {
      return {blocks, {eviction.write_back}, {eviction.evicted}, eviction.hottest};
    }
  };
  std::vector<Proposal> proposals;
  std::size_t coldest = 0;
  struct Stretch {
    std::uint64_t begin, end;
  };
  std::vector<Stretch> too_small;  // between regions that stay
  std::size_t tried = 0;
  for (auto it = state.ranked.begin();
       it != state.ranked.end() && proposals.size() < most_proposals && tried < seeds_tried;) {
    BlockRecord& record = *it;
    // Ranks are refreshed when looked at: a block used since then goes to its new place and is met again there. That does
    // not count as a try: if all blocks have been used, the coldest one shows only after the last of them.
    const auto now = rank_now(record);
    if (now > record.rank) {
      it = state.ranked.erase(it);
      record.rank = now;
      const auto place = state.ranked.insert(record).first;
      if (it == state.ranked.end() || record < *it) it = place;
      continue;
    }
    if (!proposals.empty() && announcer_.policy().prefers(proposals[coldest].run(), record.rank)) break;
    ++it;
    ++tried;
    if (!may_leave(record.primary())) continue;
    const auto seen = [&](const Proposal& p) {
      return std::ranges::find(p.eviction.blocks, &record) != p.eviction.blocks.end();
    };
    if (std::ranges::any_of(proposals, seen)) continue;
    const auto at = state.heap.offset(record.primary()->slot);
    if (std::ranges::any_of(too_small, [at](const Stretch& s) { return s.begin <= at && at < s.end; }))
      continue;
    EvictionRun run;
    if (!grow(run, t, record.primary()->slot, range)) {
      too_small.push_back({state.heap.offset(run.first), state.heap.offset(run.last) + 1});
      continue;
    }
    std::vector<BlockFacts> blocks;
    blocks.reserve(run.blocks.size());
    for (const auto* block : run.blocks) blocks.push_back(facts(*block->block));
    proposals.push_back({std::move(run), std::move(blocks)});
    if (proposals.back().eviction.hottest < proposals[coldest].eviction.hottest)
      coldest = proposals.size() - 1;
  }
  if (proposals.empty()) return std::nullopt;

  std::vector<Run> runs;
  runs.reserve(proposals.size());
  for (const auto& p : proposals) runs.push_back(p.run());
  const RoomRequest request{t, {range.size}, for_block, background};
  choosing_ = true;  // nothing may change under the proposals
  const RunChoice choice = announcer_.ask([&](Policy& p) { return p.choose(request, runs, *this); });
  choosing_ = false;
  forced = choice.run >= proposals.size();
  const auto index = forced ? 0 : choice.run;
  to.assign(choice.to.begin(), choice.to.end());
  if (forced || to.size() != proposals[index].blocks.size()) to.clear();
  return std::move(proposals[index].eviction);
}

bool ManagerCore::drop_a_secondary(TierIndex t) noexcept {
  for (auto& region : tiers_[t].secondaries) {
    if (region.readers > 0) continue;  // still read by a transfer: dropping it gives no room now
    Block& b = *region.block;
    detach(b, &region);
    free_region(&region);
    ++counts_.copies_dropped;
    return true;
  }
  return false;
}

void ManagerCore::count_clean_eviction(Block& b) noexcept {
  ++b.record->evictions;
  ++counts_.evictions;
  ++counts_.dropped_clean;
}

/// True if room should be made in a tier for a block from above: the tier has a copy to drop, or a block that may go on and
/// is no hotter.
bool ManagerCore::gives_way(TierIndex t, const Block& b) noexcept {
  auto& state = tiers_[t];
  if (b.size > state.heap.capacity().count) return false;
  if (!state.secondaries.empty()) return true;
  if (t + 1u == tiers_.size()) return false;
  const auto wanted = rank_now(*b.record);
  for (std::size_t tried = 0; tried < seeds_tried && !state.ranked.empty(); ++tried) {
    BlockRecord& coldest = *state.ranked.begin();
    const auto now = rank_now(coldest);
    if (now <= coldest.rank) return now <= wanted;
    state.ranked.erase(state.ranked.begin());  // used since then: goes to its new place
    coldest.rank = now;
    state.ranked.insert(coldest);
  }
  return !state.ranked.empty();
}

TierOrder ManagerCore::order_below(const Block& b) const noexcept {
  return demotion_order(models_, b.record->primary()->tier, {b.size}, facts(b).current_copies);
}

/// Finds the target of a block of the run: its copy in that tier, or new room there. The policy's wish comes first, then
/// the tier that costs least.
/// \return  the region, or null; `lacking` is then the tier below in which room must be made for it
Region* ManagerCore::destination(Block& b, TierIndex wanted, TierIndex source, bool inside,
                                 const RoomBelow& below, TierIndex& lacking,
                                 std::error_code& cause) noexcept {
  const auto take = [&](TierIndex t) TIER_NO_THREAD_SAFETY_ANALYSIS -> Region* {
    if (Region* own = t == source ? nullptr : unread_copy(b, t)) return own;
    return allocate_region(t, b.size, b.record->alignment, cause);
  };
  if (inside || wanted == source) {  // it stays, outside the run
    Region* r = take(source);
    if (inside || r != nullptr) return r;
  }
  auto order = order_below(b);
  if (const auto named = std::ranges::find(order, wanted); named != order.end())
    std::rotate(order.begin(), named, named + 1);
  for (const auto t : order) {
    if (Region* r = take(t)) return r;
    if (below.none[t] || !gives_way(t, b)) continue;
    lacking = t;
    return nullptr;
  }
  const auto left = std::ranges::find_if(order, [&](TierIndex t) { return !below.none[t]; });
  if (left != order.end()) lacking = *left;
  return nullptr;
}

/// Starts to give up a run: clean blocks at once, dirty ones by transfers that the caller runs or submits.
/// \param inside  blocks stay in the tier, outside the run
ManagerCore::Emptied ManagerCore::begin_emptying(Room& room, const EvictionRun& run,
                                                 std::span<const TierIndex> to, bool inside,
                                                 const RoomBelow& below, std::vector<CopyTask*>& transfers,
                                                 TierIndex& lacking, std::error_code& cause) {
  auto& heap = tiers_[room.tier].heap;
  std::size_t slots = 1;
  for (auto s = run.first; s != run.last; s = heap.next(s)) ++slots;
  room.held.reserve(slots);
  transfers.reserve(run.blocks.size());
  struct Move {
    Block* block;
    Region* to;
    bool copied;
  };
  std::vector<Move> moves;
  moves.reserve(run.blocks.size());

  const auto give_up = [&](Emptied why) TIER_NO_THREAD_SAFETY_ANALYSIS {
    for (auto& m : moves) {
      m.block->state.end_move();
      if (m.to != nullptr && m.to->block == nullptr) free_region(m.to);
    }
    for (auto* region : room.held) give_back(region);
    room.held.clear();
    changed();
    return why;
  };
  // Hold free slots, so that destinations inside the tier fall outside the run.
  const auto end = heap.offset(run.last) + heap.size(run.last);
  for (auto s = run.first; s != RegionHeap::none && heap.offset(s) < end; s = heap.next(s)) {
    if (heap.is_free(s)) {
      Region* hold = nullptr;
      try {
        hold = regions_.get();
      } catch (const std::bad_alloc&) {
        give_up(Emptied::Changed);
        throw;
      }
      *hold = Region{};
      hold->tier = room.tier;
      const auto taken = heap.allocate_in(s, Bytes{heap.size(s)}, 1, hold);
      if (taken == RegionHeap::none) {  // no memory to describe it
        regions_.put(hold);
        return give_up(Emptied::Changed);
      }
      hold->slot = s = taken;
      room.held.push_back(hold);
    } else if (auto* region = static_cast<Region*>(heap.owner(s));
               region->block != nullptr && region->block->record->primary() != region) {
      detach(*region->block, region);
      room.held.push_back(region);
      ++counts_.copies_dropped;
    }
  }
  for (std::size_t i = 0; i < run.blocks.size(); ++i) {
    Block& b = *run.blocks[i]->block;
    if (!start_moving(b)) return give_up(Emptied::Changed);
    moves.push_back({&b, nullptr, false});
    const auto wanted = i < to.size() ? to[i] : no_tier;
    Region* target = destination(b, wanted, room.tier, inside, below, lacking, cause);
    if (target == nullptr) return give_up(Emptied::NoRoomBelow);
    const auto version = b.version.load(std::memory_order_relaxed);
    const bool current =
        target->block == &b && (target->version == version || mutated(Mutant::StaleRegionPublished));
    const bool lost_write = mutated(Mutant::DirtyDecidedAtFetch) && target->block == &b;
    moves.back().copied = version != 0 && !current && !lost_write;
    moves.back().to = target;
  }
  for (auto& m : moves) {
    Block& b = *m.block;
    const bool stays = m.to->tier == room.tier;
    const Cause why = stays ? Cause::Compact : room.forced ? Cause::Forced : Cause::Evict;
    if (m.to->block == &b) detach(b, m.to);
    if (stays_put(b)) note_space(*m.to);
    if (!m.copied && m.to->has_space) {
      Region* old = b.record->primary();
      set_primary(b, m.to);
      detach(b, old);
      b.state.end_move();  // last: from here on scopes may enter
      room.held.push_back(old);
      if (!stays) count_clean_eviction(b);
      MigrationEvent event{{}, b.id, room.tier, m.to->tier, {0}, why, timeline_.now_ns(), 0, true};
      announcer_.tell(event, &Observer::on_migration);
      continue;
    }
    Transfer* t = begin_transfer(b, stays ? TransferKind::Compact : TransferKind::Evict, m.to, why);
    if (t == nullptr) {
      room.broken = true;
      continue;
    }
    t->room = &room;
    ++room.pending;
    transfers.push_back(t);
  }
  return Emptied::Begun;
}

/// Frees the run and takes the room from it, in one step.
/// \return  null if a block of it had to stay, or the tier cannot back it
Region* ManagerCore::finish_room(Room& room, std::error_code& cause) noexcept {
  auto& heap = tiers_[room.tier].heap;
  Region* region = nullptr;
  if (!room.broken) {
    try {
      region = regions_.get();
    } catch (const std::bad_alloc&) {
      cause = std::make_error_code(std::errc::not_enough_memory);
    }
  }
  auto merged = RegionHeap::none;
  for (auto* held : room.held) merged = give_back(held);
  room.held.clear();
  changed();
  if (region == nullptr) return nullptr;
  const auto slot = merged == RegionHeap::none
                        ? RegionHeap::none
                        : heap.allocate_in(merged, Bytes{room.range.size}, room.range.alignment, region);
  if (slot == RegionHeap::none) {
    regions_.put(region);
    return nullptr;
  }
  return region_at(room.tier, slot, cause);
}

/// Ends a transfer that no scope waits for, and waits until its room is free.
void ManagerCore::revoke(Transfer& t, MutexLock& lock) {
  ++t.references;
  engine_.cancel(t);
  const auto began = timeline_.now_ns();
  while (!t.ended) wait(lock);
  count_wait({}, began, StallCause::Room);
  unreference(t);
}

/// Cancels a fetch or slide that no scope waits for and whose room is in this tier. \return  true if there was one
bool ManagerCore::revoke_unawaited(TierIndex t, MutexLock& lock) {
  auto& heap = tiers_[t].heap;
  Transfer* found = nullptr;
  for (auto& [id, b] : by_id_) {
    Transfer* transfer = b->record->transfer;
    if (transfer == nullptr || transfer->awaited || !transfer->submitted || transfer->ended) continue;
    if (transfer->kind != TransferKind::Fetch && transfer != sliding_) continue;
    if (transfer->to_region->tier != t) continue;
    if (heap.is_free(transfer->to_region->slot)) continue;
    found = transfer;
    break;
  }
  if (found == nullptr) return false;
  revoke(*found, lock);
  return true;
}

/// Reports what stands in the way of more room, and asks to be told when pins go.
RoomReport ManagerCore::survey() noexcept {
  RoomReport report;
  report.transient = pending_rooms_ > 0;
  for (auto& tier : tiers_) {
    for (auto slot = tier.heap.first(); slot != RegionHeap::none; slot = tier.heap.next(slot)) {
      auto* region = static_cast<Region*>(tier.heap.owner(slot));
      if (region == nullptr) continue;  // free or condemned
      if (region == tier.spare || region->cached) continue;
      if (region->block == nullptr) {  // a transfer's target, or held by a room in the making
        report.transient = true;
        continue;
      }
      Block& b = *region->block;
      if (b.record->primary() != region || b.record->immovable) continue;
      const auto state = b.state.now();
      if (state.is_moving() || b.record->shielded > 0) report.transient = true;
      if (!state.is_pinned()) continue;
      const auto old = b.state.await_last_pin();
      (old.is_pinned() ? report.foreign : report.again) = true;
    }
  }
  return report;
}

/// Makes room in tier `t` for `count` blocks of the run at once; room for one alone may be free already.
/// \return  the number of blocks for which there is room
std::size_t ManagerCore::room_below(const EvictionRun& run, TierIndex t, std::size_t count, BlockId for_block,
                                    RoomReport& report, MutexLock& lock) {
  Range range;
  for (const auto* record : run.blocks) {
    range.size = std::max(range.size, record->block->size);
    range.alignment = std::max(range.alignment, record->alignment);
    range.in_window |= record->window_address != nullptr;
  }
  count = std::min(count, run.blocks.size());  // before the lock is released
  struct Held {
    ManagerCore& core;
    std::vector<Region*> regions;
    ~Held() TIER_NO_THREAD_SAFETY_ANALYSIS {
      for (auto* region : regions) core.free_region(region);
    }
  } made{*this, {}};
  made.regions.reserve(count);
  while (made.regions.size() < count) {
    Region* r = make_room(t, range, for_block, report, lock);
    if (r == nullptr) break;
    made.regions.push_back(r);
  }
  return made.regions.size();
}

/// Returns a region of tier `t`: free, dropped, evicted for, or compacted for. Never waits for pins.
/// \return  null if there is none. The lock may have been released in between: `report` says so.
Region* ManagerCore::make_room(TierIndex t, const Range& range, BlockId for_block, RoomReport& report,
                               MutexLock& lock) {
  auto preferred = range;
  preferred.alignment = preferred_alignment(t, range.size, range.alignment);
  Region* const region = try_to_make_room(t, preferred, for_block, Packing::Preferred, report, lock);
  if (region != nullptr || report.broken || !moves_pages(t)) return region;
  return try_to_make_room(t, range, for_block, Packing::Tight, report, lock);
}

Region* ManagerCore::make_room_for(const Block& b, TierIndex t, RoomReport& report, MutexLock& lock) {
  const auto id = b.id;  // the block may go while the lock is released
  auto range = range_for(b, t);
  Region* const region = make_room(t, range, id, report, lock);
  if (region != nullptr || range.end == Range{}.end) return region;
  range.end = Range{}.end;
  return make_room(t, range, id, report, lock);
}

/// Takes free room, and remembers a request that failed because free room is in pieces.
/// \param behind  set if the room does not lie where it should; null is returned then
Region* ManagerCore::allocate_region_in(TierIndex t, const Range& range, bool& behind,
                                        std::error_code& cause) noexcept {
  auto& state = tiers_[t];
  Region* const region = allocate_region(t, range.size, range.alignment, cause);
  behind = region != nullptr && state.heap.offset(region->slot) + range.size > range.end;
  const bool scattered = region == nullptr && range.size <= (state.heap.capacity() - state.heap.used()).count;
  if (scattered && !range.in_window && state.secondaries.empty()) {  // otherwise copies are dropped first
    state.scattered = range;
    state.in_the_way = ~std::uint64_t{0};
  }
  if (!behind) return region;
  free_region(region);
  return nullptr;
}

Region* ManagerCore::try_to_make_room(TierIndex t, const Range& range, BlockId for_block, Packing packing,
                                      RoomReport& report, MutexLock& lock) {
  const bool slowest = t + 1u == tiers_.size();
  const auto compacts = [&]() TIER_NO_THREAD_SAFETY_ANALYSIS {
    const auto began = timeline_.now_ns();
    const bool moved = compact_tier(t, packing, lock);
    if (moved) count_wait({}, began, StallCause::Room);
    return moved;
  };
  bool compacted = false;
  bool cheapest = false;  // if the proposed blocks have no room below, the run that moves fewest bytes leaves
  int failed = 0;
  RoomBelow below;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    reclaim_if_full();
    bool behind = false;
    std::error_code refused;  // there is room in the tier, but no space for it
    if (Region* r = allocate_region_in(t, range, behind, refused)) return r;
    if (refused) report.cause = refused;
    if (range.size > tiers_[t].heap.capacity().count) break;
    if (stop_sliding(t, range, lock)) {
      report.unlocked = true;
      continue;
    }
    std::optional<EvictionRun> run;
    if (behind) run = scan(t, range);
    if (run && !run->blocks.empty()) run.reset();  // nothing is free in front
    if (!run && drop_a_secondary(t)) continue;
    if (slowest && garbage_ > 0 && reclaim_garbage() > 0) continue;
    if (refused && !run && !std::exchange(compacted, true)) {
      report.unlocked = true;
      if (compacts()) continue;
    }

    std::vector<TierIndex> to;
    bool forced = false, inside = slowest;
    if (!slowest && !run && !cheapest) run = propose(t, range, for_block, false, to, forced);
    forced |= cheapest;
    if (!run) run = scan(t, range);
    if (!run) {
      if (revoke_unawaited(t, lock)) {
        report.unlocked = true;
        continue;
      }
      break;
    }
    if (forced) ++counts_.forced;
    const auto wanted = [&] {
      Room r;
      r.tier = t;
      r.range = range;
      r.forced = forced;
      return r;
    };
    Room room = wanted();
    std::vector<CopyTask*> transfers;
    TierIndex lacking = no_tier;
    auto begun = begin_emptying(room, *run, to, inside, below, transfers, lacking, report.cause);
    if (begun == Emptied::NoRoomBelow && lacking != no_tier && !slowest) {
      auto& places = below.places[lacking];
      const auto made =
          room_below(*run, lacking, std::max<std::size_t>(1, 2 * places), for_block, report, lock);
      report.unlocked = true;
      if (made > places) {
        places = made;
        continue;
      }
      if (below.none.count() + t + 2 < tiers_.size()) {  // the last tier that is left stays
        below.none.set(lacking);
        continue;
      }
    }
    if (begun == Emptied::NoRoomBelow && !inside) {  // nowhere to go but elsewhere in this tier
      room = wanted();
      transfers.clear();
      if ((run = scan(t, range)))
        begun = begin_emptying(room, *run, {}, inside = true, below, transfers, lacking, report.cause);
    }
    if (begun == Emptied::Changed) continue;
    if (begun == Emptied::NoRoomBelow) {
      report.unlocked = true;
      if (!std::exchange(compacted, true) && compacts()) continue;
      if (slowest || std::exchange(cheapest, true)) break;
      below = {};
      continue;
    }
    if (room.pending > 0) {
      for (auto* transfer : transfers) static_cast<Transfer*>(transfer)->awaited = true;
      report.unlocked = true;
      const auto began = timeline_.now_ns();
      without_lock(lock, [&] { engine_.run(transfers); });
      count_wait({}, began, StallCause::Room);
    }
    if (Region* r = finish_room(room, report.cause)) return r;
    if (room.cause) {  // each try has condemned a range: a broken device would lose all of them
      report.cause = room.cause;
      report.broken = ++failed == failed_writes;
      if (report.broken) break;
    }
  }
  return nullptr;
}

// --- saying so -------------------------------------------------------------------------------------------

const ManagerCore::TierState& ManagerCore::largest_addressable() const noexcept {
  const TierState* largest = &tiers_.front();  // the fastest tier is always addressable
  for (const auto& t : tiers_)
    if (t.tier->model().addressable && t.heap.capacity() > largest->heap.capacity()) largest = &t;
  return *largest;
}

void ManagerCore::throw_out_of_memory(std::uint64_t size, std::string_view what, std::error_code cause,
                                      Free free) const {
  // Uses a fixed buffer: this code must not allocate.
  std::array<char, 1000> text{};
  std::size_t used = 0;
  const auto say = [&](const char* format, auto... args) {
    if (used + 1 >= text.size()) return;
    const int n = std::snprintf(text.data() + used, text.size() - used, format, args...);
    if (n > 0) used = std::min(text.size() - 1, used + static_cast<std::size_t>(n));
  };
  const auto bytes = [](Bytes b) { return static_cast<unsigned long long>(b.count); };
  if (what.empty())
    say("no room for %llu bytes:", static_cast<unsigned long long>(size));
  else
    say("no room for %llu bytes (%.*s):", static_cast<unsigned long long>(size),
        static_cast<int>(what.size()), what.data());
  for (const auto& t : tiers_) {
    std::uint64_t pinned = 0;
    for (auto s = t.heap.first(); s != RegionHeap::none; s = t.heap.next(s)) {
      const auto* region = static_cast<const Region*>(t.heap.owner(s));
      if (region == nullptr || region->block == nullptr) continue;
      const auto& record = *region->block->record;
      if (record.immovable || (record.primary() == region && region->block->pins() != 0))
        pinned += t.heap.size(s);
    }
    say(" %.*s: %llu bytes, %llu free, largest run %llu, %llu pinned;",
        static_cast<int>(t.tier->name().size()), t.tier->name().data(), bytes(t.heap.capacity()),
        bytes(t.heap.capacity() - t.used()), bytes(t.heap.largest_free()),
        static_cast<unsigned long long>(pinned));
  }
  if (free == Free::IsKept)
    say(" some is %s;", "kept free, so that what is there can be exchanged between the tiers");
  if (const auto& largest = largest_addressable(); size > largest.heap.capacity().count)
    say(" what is in use needs a tier that the CPU can address, and the largest, %.*s, has less: use it in "
        "parts "
        "(tier::windowed), or give that tier more;",
        static_cast<int>(largest.tier->name().size()), largest.tier->name().data());
  std::array<char, 100> words{};
  const bool is_errno =
      cause.category() == std::generic_category() || cause.category() == std::system_category();
  if (cause && is_errno)
    say(" cause: %s", ::strerror_r(cause.value(), words.data(), words.size()));
  else if (cause)
    say(" cause: error %d of %s", cause.value(), cause.category().name());
  if (is_of_space(cause)) {
    const char* before = " in";
    for (const auto& t : tiers_) {
      const auto directory = t.tier->directory();
      if (directory.empty()) continue;
      say("%s \"%.*s\"", std::exchange(before, " or"), static_cast<int>(directory.size()), directory.data());
    }
  }
  throw OutOfTierMemory{std::string_view{text.data(), used}, cause};
}

/// Reports each tier that has come below the policy's watermark since it was last above.
void ManagerCore::check_watermarks() noexcept {
  const double share = announcer_.policy().watermark();
  if (share <= 0) return;
  const auto tiers = static_cast<TierIndex>(tiers_.size());
  for (TierIndex t = 0; t < tiers; ++t) {
    const auto capacity = tiers_[t].heap.capacity();
    const auto free = capacity - tiers_[t].used();
    const bool below = static_cast<double>(free.count) < share * static_cast<double>(capacity.count);
    if (below == std::exchange(tiers_[t].below_watermark, below) || !below) continue;
    WatermarkEvent event{{}, t, free};
    announcer_.tell(event, &Observer::on_watermark);
    announcer_.ask([&](Policy& p) { p.on_watermark(event, *this); });
  }
}

}  // namespace tier
