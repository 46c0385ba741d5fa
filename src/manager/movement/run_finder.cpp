// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run_finder.hpp"

#include <algorithm>
#include <utility>

namespace tier {
namespace {

constexpr std::size_t most_proposals = 8;  // a guess: enough that a cheap neighbourhood is among them
constexpr std::size_t seeds_tried = 256;   // before the whole heap is scanned

}  // namespace

bool RunFinder::may_leave(const Region* region) noexcept {
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
bool RunFinder::may_slide(const Region* region) noexcept {
  return may_leave(region) && region->block->record->primary() == region &&
         region->block->record->window_address == nullptr;
}

/// Fills in the cost of giving up the run.
void RunFinder::describe(EvictionRun& run, TierIndex t) const {
  const auto& heap = store_.tiers[t].heap;
  run.blocks.clear();
  run.write_back = run.evicted = run.hottest = 0;
  for (auto slot = run.first;; slot = heap.next(slot)) {
    const auto* region = static_cast<const Region*>(heap.owner(slot));
    if (region != nullptr && region->block->record->primary() == region) {
      BlockRecord& record = *region->block->record;
      run.blocks.push_back(&record);
      run.evicted += region->block->size;
      if (dirty(*region->block)) run.write_back += region->block->size;
      run.hottest = std::max(run.hottest, record.rank);
    }
    if (slot == run.last) return;
  }
}

/// Grows a run around a slot, towards the free or colder side, until the size fits. If it cannot fit, `run` is the whole
/// stretch between two regions that stay.
bool RunFinder::grow(EvictionRun& run, TierIndex t, RegionHeap::Slot seed, const Range& range) const {
  const auto& heap = store_.tiers[t].heap;
  run.first = run.last = seed;
  const auto cost = [&](RegionHeap::Slot slot) -> std::optional<std::uint64_t> {
    if (slot == RegionHeap::none) return std::nullopt;
    if (heap.is_free(slot)) return 0;
    const auto* region = static_cast<const Region*>(heap.owner(slot));
    if (!may_leave(region)) return std::nullopt;
    return region->block->record->primary() == region ? region->block->record->rank : 0;
  };
  while (!fits(heap, run.first, run.last, range)) {
    const auto left = cost(heap.previous(run.first));
    const auto right = cost(heap.next(run.last));
    if (!left && !right) return false;
    if (!right || (left && *left <= *right))
      run.first = heap.previous(run.first);
    else
      run.last = heap.next(run.last);
  }
  // The last slot that was added may have made slots at the other end needless.
  while (run.first != run.last && fits(heap, run.first, heap.previous(run.last), range))
    run.last = heap.previous(run.last);
  while (run.first != run.last && fits(heap, heap.next(run.first), run.last, range))
    run.first = heap.next(run.first);
  describe(run, t);
  return true;
}

std::optional<EvictionRun> RunFinder::scan(TierIndex t, const Range& range) const {
  return scan(t, range, store_.tiers[t].heap.first(), ~std::size_t{0}, false);
}

std::optional<EvictionRun> RunFinder::scan_for_slide(TierIndex t, const Range& range, RegionHeap::Slot first,
                                                     std::size_t slots) const {
  return scan(t, range, first, slots, true);
}

/// Finds the run that moves the fewest bytes, by a pass over `slots` slots.
/// \param background  considers only regions that may slide
std::optional<EvictionRun> RunFinder::scan(TierIndex t, const Range& range, RegionHeap::Slot first,
                                           std::size_t slots, bool background) const {
  const auto& heap = store_.tiers[t].heap;
  std::optional<EvictionRun> best;
  std::uint64_t best_bytes = 0, bytes = 0;
  const auto weight = [&](RegionHeap::Slot slot) {
    const auto* region = static_cast<const Region*>(heap.owner(slot));
    return region == nullptr || region->block->record->primary() != region ? 0 : region->block->size;
  };
  const auto stays = [&](RegionHeap::Slot slot) {
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

std::optional<RunFinder::Choice> RunFinder::propose(TierIndex t, const Range& range, BlockId for_block,
                                                    bool background) {
  auto found = proposals(t, range);
  if (found.empty()) return std::nullopt;
  std::vector<Run> runs;
  runs.reserve(found.size());
  for (const auto& p : found) runs.push_back(p.run());
  const RoomRequest request{t, {range.size}, for_block, background};
  is_choosing_ = true;  // nothing may change under the proposals
  const RunChoice choice = state_.announcer.ask(
      [&](Policy& p, PolicyContext& context) { return p.choose(request, runs, context); });
  is_choosing_ = false;
  const bool forced = choice.run >= found.size();
  auto& chosen = found[forced ? 0 : choice.run];
  Choice result{std::move(chosen.eviction), {choice.to.begin(), choice.to.end()}, forced};
  if (forced || result.to.size() != chosen.blocks.size()) result.to.clear();
  return result;
}

/// Returns up to eight runs around the coldest blocks that may leave; fewer once the policy prefers one of them to all that
/// could follow.
std::vector<RunFinder::Proposal> RunFinder::proposals(TierIndex t, const Range& range) {
  auto& state = store_.tiers[t];
  std::vector<Proposal> found;
  std::size_t coldest = 0;
  std::vector<Stretch> too_small;
  std::size_t tried = 0;
  for (auto it = state.ranked.begin();
       it != state.ranked.end() && found.size() < most_proposals && tried < seeds_tried;) {
    BlockRecord& record = *it;
    // Ranks are refreshed when looked at: a block used since then goes to its new place and is met again there. That does
    // not count as a try: if all blocks have been used, the coldest one shows only after the last of them.
    const auto now = store_.blocks.rank_now(record);
    if (now > record.rank) {
      it = state.ranked.erase(it);
      record.rank = now;
      const auto place = state.ranked.insert(record).first;
      if (it == state.ranked.end() || record < *it) it = place;
      continue;
    }
    if (!found.empty() && state_.announcer.policy().prefers(found[coldest].run(), record.rank)) break;
    ++it;
    ++tried;
    if (!may_leave(record.primary())) continue;
    const auto has_it = [&](const Proposal& p) {
      return std::ranges::find(p.eviction.blocks, &record) != p.eviction.blocks.end();
    };
    if (std::ranges::any_of(found, has_it)) continue;
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
    found.push_back({std::move(run), std::move(blocks)});
    if (found.back().eviction.hottest < found[coldest].eviction.hottest) coldest = found.size() - 1;
  }
  return found;
}

bool RunFinder::gives_way(TierIndex t, const Block& b) noexcept {
  auto& state = store_.tiers[t];
  if (b.size > state.heap.capacity().count) return false;
  if (!state.secondaries.empty()) return true;
  if (store_.tiers.is_slowest(t)) return false;
  const auto wanted = store_.blocks.rank_now(*b.record);
  for (std::size_t tried = 0; tried < seeds_tried && !state.ranked.empty(); ++tried) {
    BlockRecord& coldest = *state.ranked.begin();
    const auto now = store_.blocks.rank_now(coldest);
    if (now <= coldest.rank) return now <= wanted;
    state.ranked.erase(state.ranked.begin());  // used since then: goes to its new place
    coldest.rank = now;
    state.ranked.insert(coldest);
  }
  return !state.ranked.empty();
}

TierOrder RunFinder::order_below(const Block& b) const noexcept {
  return demotion_order(store_.tiers.models(), b.record->primary()->tier, {b.size}, facts(b).current_copies);
}

}  // namespace tier
