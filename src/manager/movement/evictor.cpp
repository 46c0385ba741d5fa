// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "evictor.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "run_emptier.hpp"

namespace tier {

/// One search for room in a tier. It takes steps until one of them has made the room, or there is nothing left to try. Other
/// threads may take or pin what a step has freed; then they have made progress, and another step follows.
class Evictor::Search {
 public:
  Search(Evictor& evictor, TierIndex t, const Range& range, BlockId for_block, Closeness closeness,
         RoomReport& report, MutexLock& lock) noexcept
      : evictor_{evictor},
        state_{evictor.state_},
        store_{evictor.store_},
        tier_{t},
        range_{range},
        for_block_{for_block},
        closeness_{closeness},
        report_{report},
        lock_{lock} {}

  Region* run() {
    for (int step = 0; step < most_steps; ++step) {
      const auto result = take_step();
      if (result.next != Next::Step) return result.region;
    }
    return nullptr;
  }

 private:
  static constexpr int most_steps = 64;
  static constexpr int failed_writes = 3;  // in one search, before a tier counts as broken

  enum class Next { Step, End };
  struct Step {
    Next next;
    Region* region;  // the room, if it was found
  };
  static constexpr Step again{Next::Step, nullptr}, no_room{Next::End, nullptr};
  using Emptied = RunEmptier::Result;

  Step take_step();
  [[nodiscard]] std::optional<RunFinder::Choice> choose();
  Step empty(const RunFinder::Choice& choice);
  [[nodiscard]] bool has_made_room_below(const EvictionRun& run, TierIndex below);
  Step without_room_below();
  Step carry_out(Room& room, const std::vector<CopyTask*>& tasks);
  [[nodiscard]] bool compacts_once();
  [[nodiscard]] bool is_slowest() const noexcept { return store_.tiers.is_slowest(tier_); }
  [[nodiscard]] Room new_room(bool forced) const {
    Room room;
    room.tier = tier_;
    room.range = range_;
    room.forced = forced;
    return room;
  }

  Evictor& evictor_;
  State& state_;
  Store& store_;
  const TierIndex tier_;
  const Range range_;
  const BlockId for_block_;
  const Closeness closeness_;
  RoomReport& report_;
  MutexLock& lock_;
  RoomBelow below_;
  bool has_compacted_ = false;
  bool moves_least_ =
      false;        // the proposed blocks have no room below: the run that moves fewest bytes leaves
  int failed_ = 0;  // rooms that a failed write has broken
};

Evictor::Search::Step Evictor::Search::take_step() {
  store_.blocks.reclaim_if_full();
  bool behind = false;
  std::error_code refused;  // there is room in the tier, but no space for it
  if (Region* r = evictor_.allocate(tier_, range_, behind, refused)) return {Next::End, r};
  if (refused) report_.cause = refused;
  if (range_.size > store_.tiers[tier_].heap.capacity().count) return no_room;
  if (evictor_.compactor_.stop_sliding(tier_, range_, lock_)) {
    report_.unlocked = true;
    return again;
  }
  std::optional<EvictionRun> in_front;  // free room where it should lie
  if (behind) in_front = evictor_.finder_.scan(tier_, range_);
  if (in_front && !in_front->blocks.empty()) in_front.reset();
  if (!in_front && store_.regions.drop_a_secondary(tier_)) return again;
  if (is_slowest() && store_.blocks.has_garbage() && store_.blocks.reclaim_garbage() > 0) return again;
  if (refused && !in_front && compacts_once()) return again;
  if (in_front) return empty({std::move(*in_front), {}, moves_least_});
  if (const auto choice = choose()) return empty(*choice);
  if (!evictor_.revoke_unawaited(tier_, lock_)) return no_room;
  report_.unlocked = true;
  return again;
}

/// Chooses the run that leaves. From the slowest tier nothing leaves: its blocks go elsewhere in it.
std::optional<RunFinder::Choice> Evictor::Search::choose() {
  if (!is_slowest() && !moves_least_)
    if (auto choice = evictor_.finder_.propose(tier_, range_, for_block_, false)) return choice;
  if (auto run = evictor_.finder_.scan(tier_, range_))
    return RunFinder::Choice{std::move(*run), {}, moves_least_};
  return std::nullopt;
}

Evictor::Search::Step Evictor::Search::empty(const RunFinder::Choice& choice) {
  if (choice.forced) ++state_.counters.totals.forced;
  Room room = new_room(choice.forced);
  {
    RunEmptier emptier{state_, store_, evictor_.transfers_, evictor_.finder_, room};
    const auto begun = emptier.begin(choice.run, choice.to, is_slowest(), below_, report_.cause);
    if (begun == Emptied::Changed) return again;
    if (begun == Emptied::Begun) return carry_out(room, emptier.tasks());
    if (is_slowest()) return without_room_below();
    if (emptier.lacking() != no_tier && has_made_room_below(choice.run, emptier.lacking())) return again;
  }
  // Nowhere to go but elsewhere in this tier.
  const auto run = evictor_.finder_.scan(tier_, range_);
  if (!run) return without_room_below();
  RunEmptier emptier{state_, store_, evictor_.transfers_, evictor_.finder_, room};
  const auto begun = emptier.begin(*run, {}, true, below_, report_.cause);
  if (begun == Emptied::Changed) return again;
  return begun == Emptied::Begun ? carry_out(room, emptier.tasks()) : without_room_below();
}

/// Makes room in a tier below, for more blocks at a time than before.
/// \return  false if nothing was won, and that tier is the last one that is left
bool Evictor::Search::has_made_room_below(const EvictionRun& run, TierIndex below) {
  auto& places = below_.places[below];
  const auto made =
      evictor_.room_below(run, below, std::max<std::size_t>(1, 2 * places), for_block_, report_, lock_);
  report_.unlocked = true;
  if (made > places) {
    places = made;
    return true;
  }
  if (below_.none.count() + tier_ + 2 >= store_.tiers.count()) return false;
  below_.none.set(below);
  return true;
}

Evictor::Search::Step Evictor::Search::without_room_below() {
  report_.unlocked = true;
  if (compacts_once()) return again;
  if (is_slowest() || std::exchange(moves_least_, true)) return no_room;
  below_ = {};
  return again;
}

Evictor::Search::Step Evictor::Search::carry_out(Room& room, const std::vector<CopyTask*>& tasks) {
  if (room.pending > 0) {
    for (auto* task : tasks) static_cast<Transfer*>(task)->awaited = true;
    report_.unlocked = true;
    const auto began = state_.timeline.now_ns();
    state_.monitor.without_lock(lock_, [&] { state_.engine.run(tasks); });
    state_.counters.count_wait({}, began, StallCause::Room);
  }
  if (Region* r = evictor_.finish_room(room, report_.cause)) return {Next::End, r};
  if (!room.cause) return again;
  // Each such room has condemned a range: a broken device would lose all of them.
  report_.cause = room.cause;
  report_.broken = ++failed_ == failed_writes;
  return report_.broken ? no_room : again;
}

/// Compacts the tier, the first time.   \return  true if something moved
bool Evictor::Search::compacts_once() {
  if (std::exchange(has_compacted_, true)) return false;
  report_.unlocked = true;
  const auto began = state_.timeline.now_ns();
  const bool moved = evictor_.compactor_.compact(tier_, closeness_, lock_);
  if (moved) state_.counters.count_wait({}, began, StallCause::Room);
  return moved;
}

Region* Evictor::allocate(TierIndex t, const Range& range, bool& behind, std::error_code& cause) noexcept {
  auto& state = store_.tiers[t];
  Region* const region = store_.regions.allocate(t, range.size, range.alignment, cause);
  behind = region != nullptr && state.heap.offset(region->slot) + range.size > range.end;
  const bool scattered = region == nullptr && range.size <= (state.heap.capacity() - state.heap.used()).count;
  if (scattered && !range.in_window && state.secondaries.empty())  // otherwise copies are dropped first
    compactor_.note_lack(t, range);
  if (!behind) return region;
  store_.regions.free(region);
  return nullptr;
}

Region* Evictor::make_room(TierIndex t, const Range& range, BlockId for_block, RoomReport& report,
                           MutexLock& lock) {
  auto preferred = range;
  preferred.alignment = store_.tiers.preferred_alignment(t, range.size, range.alignment);
  Region* const region = Search{*this, t, preferred, for_block, Closeness::Preferred, report, lock}.run();
  if (region != nullptr || report.broken || !store_.tiers.moves_pages(t)) return region;
  return Search{*this, t, range, for_block, Closeness::Tight, report, lock}.run();
}

Region* Evictor::make_room_for(const Block& b, TierIndex t, RoomReport& report, MutexLock& lock) {
  const auto id = b.id;  // the block may go while the lock is released
  auto range = store_.reserve.range_for(b, t);
  Region* const region = make_room(t, range, id, report, lock);
  if (region != nullptr || range.end == Range{}.end) return region;
  range.end = Range{}.end;
  return make_room(t, range, id, report, lock);
}

Region* Evictor::finish_room(Room& room, std::error_code& cause) noexcept {
  auto& heap = store_.tiers[room.tier].heap;
  Region* region = nullptr;
  if (!room.broken) {
    try {
      region = store_.regions.new_region();
    } catch (const std::bad_alloc&) {
      cause = std::make_error_code(std::errc::not_enough_memory);
    }
  }
  auto merged = RegionHeap::none;
  for (auto* held : room.held) merged = store_.regions.give_back(held);
  room.held.clear();
  state_.monitor.changed();
  if (region == nullptr) return nullptr;
  const auto slot = merged == RegionHeap::none
                        ? RegionHeap::none
                        : heap.allocate_in(merged, Bytes{room.range.size}, room.range.alignment, region);
  if (slot == RegionHeap::none) {
    store_.regions.put_region(region);
    return nullptr;
  }
  return store_.regions.region_at(room.tier, slot, cause);
}

RoomReport Evictor::survey() noexcept {
  RoomReport report;
  report.transient = transfers_.pending_rooms() > 0;
  for (auto& tier : store_.tiers) {
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
      if (!state.is_pinned() && !state.is_shared()) continue;
      const auto old = b.state.await_last_pin();
      (old.is_pinned() ? report.foreign : report.again) = true;
    }
  }
  return report;
}

/// Makes room in tier `t` for `count` blocks of the run at once; room for one alone may be free already.
/// \return  the number of blocks for which there is room
std::size_t Evictor::room_below(const EvictionRun& run, TierIndex t, std::size_t count, BlockId for_block,
                                RoomReport& report, MutexLock& lock) {
  Range range;
  for (const auto* record : run.blocks) {
    range.size = std::max(range.size, record->block->size);
    range.alignment = std::max(range.alignment, record->alignment);
    range.in_window |= record->window_address != nullptr;
  }
  count = std::min(count, run.blocks.size());  // before the lock is released
  struct Held {
    RegionStore& store;
    std::vector<Region*> regions;
    ~Held() {
      for (auto* region : regions) store.free(region);
    }
  } made{store_.regions, {}};
  made.regions.reserve(count);
  while (made.regions.size() < count) {
    Region* r = make_room(t, range, for_block, report, lock);
    if (r == nullptr) break;
    made.regions.push_back(r);
  }
  return made.regions.size();
}

/// Cancels a fetch or slide that no scope waits for and whose room is in this tier. \return  true if there was one
bool Evictor::revoke_unawaited(TierIndex t, MutexLock& lock) {
  auto& heap = store_.tiers[t].heap;
  Transfer* found = nullptr;
  for (const auto& record : store_.catalog.blocks()) {
    Transfer* transfer = record.transfer;
    if (transfer == nullptr || transfer->awaited || !transfer->submitted || transfer->ended) continue;
    if (transfer->kind != TransferKind::Fetch && !compactor_.is_slide(*transfer)) continue;
    if (transfer->to_region->tier != t) continue;
    if (heap.is_free(transfer->to_region->slot)) continue;
    found = transfer;
    break;
  }
  if (found == nullptr) return false;
  transfers_.revoke(*found, lock);
  return true;
}

}  // namespace tier
