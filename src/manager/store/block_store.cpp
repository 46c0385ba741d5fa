// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "block_store.hpp"

#include <tier/core/config.hpp>
#include <tier/core/request_size.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace tier {

Block& BlockStore::add(std::uint64_t size, std::size_t alignment) {
  detail::check_request(size, alignment);  // from here on sizes are rounded up and added
  Block& b = catalog_.add_block(size, tiers_.block_alignment(size, alignment), state_.clock.stamp());
  refresh(b);
  return b;
}

void BlockStore::recycle(Block& b) noexcept {
  if (b.record->group != nullptr) small_objects_.erase(*b.record->group);
  if (b.record->window != nullptr) windows_.leave(b);
  catalog_.erase(b);
}

void BlockStore::set_primary(Block& b, Region* region, const std::byte* landed, bool for_stores) noexcept {
  unrank(b);
  Region* old = b.record->regions;
  const bool kept = old != nullptr && pages_.hide(b, *old);
  region->block = &b;
  region->next = old;
  b.record->regions = region;
  b.record->remembered = false;
#if defined(TIER_CHECKED)
  b.record->sealed_version = 0;  // a device that returns other bytes is no mistake of the program
#endif
  if (old == nullptr) reserve_.begins(b);
  if (old != nullptr) {
    old->version = kept ? b.version.load(std::memory_order_relaxed) : 0;
    tiers_[old->tier].secondaries.push_back(*old);
  }
  if (b.record->window_address == nullptr) {
    const bool has_base = tiers_[region->tier].tier->base() != nullptr;
    b.address.store(has_base ? tiers_.home(*region) : nullptr, std::memory_order_release);
    region->bare = false;
  } else if (pages_.shows_in(b, region->tier)) {
    pages_.show(b, landed, for_stores);
  }
  rank(b);
  refresh(b);
  if (old == nullptr)
    state_.announcer.tell_observers(PlacementEvent{{}, b.id, region->tier}, &Observer::on_placement);
}

void BlockStore::mark_dead(Block& b) noexcept {
  b.version.fetch_add(1, std::memory_order_relaxed);  // a copy in flight is not published
  if (b.record->transfer != nullptr) state_.engine.cancel(*b.record->transfer);
  pages_.note_end();
  b.state.retire();
  release_if_dead(b);
}

void BlockStore::release_if_dead(Block& b) noexcept {
  free_parts(b);
  auto& record = *b.record;
  const auto state = b.state.now();
  if (!state.is_retired() || state.is_pinned() || record.transfer != nullptr || record.kept) return;
  // A device that reads from a window does so at the window's addresses.
  if (record.window_address != nullptr && record.primary() != nullptr && record.primary()->readers > 0)
    return;
  free_contents(b);
  if (record.dying && record.entering == 0) recycle(b);
}

void BlockStore::free_contents(Block& b) noexcept {
  auto& record = *b.record;
  unrank(b);
  if (record.immovable && record.counted) {
    const Region& region = *record.primary();
    reserve_.remove_placed(region.tier, tiers_[region.tier].heap.size(region.slot));
    record.counted = false;
  }
  if (record.primary() != nullptr) reserve_.ends(b);
  const bool cached = record.dying && windows_.cache_pages(b);
  if (!cached && record.primary() != nullptr) std::ignore = pages_.hide(b, *record.primary());
  if (!cached && pages_.stays_put(b)) WindowSpace::drop(record.window_address, b.size);
  while (Region* region = record.regions) {
    if (region->next != nullptr) {
      Region* secondary = region->next;
      regions_.detach(b, secondary);
      regions_.free(secondary);
      continue;
    }
    record.regions = nullptr;
    if (cached)
      state_.monitor.changed();  // its room counts as free now
    else
      regions_.free(region);
  }
  if (record.garbage) --garbage_;
  record.garbage = record.archived = record.writable = false;
  b.address.store(nullptr, std::memory_order_release);
  refresh(b);
}

void BlockStore::free_parts(Block& b) noexcept {
  Group* const group = b.record->group;
  if (group == nullptr || group->leaving.none()) return;
  if (b.state.await_last_pin().is_pinned()) return;  // the last unpin comes here
  small_objects_.free_left(*group, b.record->dying);
}

void BlockStore::stop_reading(Region* region) noexcept {
  if (--region->readers > 0) return;
  if (region->given_up)
    regions_.free(region);
  else if (region->block != nullptr && region->block->record->window_address != nullptr)
    release_if_dead(*region->block);
}

void BlockStore::last_unpinned(Block& b) noexcept {
  b.state.stop_awaiting();
  state_.lifetime.release(b);
  release_if_dead(b);
  state_.monitor.changed();
}

void BlockStore::leave(Block& b) noexcept {
  if (b.state.unpin().was_last_awaited()) last_unpinned(b);
}

void BlockStore::become_garbage(Block& b) noexcept {
  b.record->garbage = true;
  ++garbage_;
  rank(b);
}

void BlockStore::clear_garbage(Block& b) noexcept {
  b.record->garbage = false;
  --garbage_;
  unrank(b);
  rank(b);
}

void BlockStore::reclaim_if_full() noexcept {
  const auto& heap = tiers_.slowest().heap;
  if (garbage_ > 0 && tiers_.slowest().used().count / 8 > heap.capacity().count / 10) reclaim_garbage();
}

std::size_t BlockStore::reclaim_garbage() noexcept {
  std::size_t reclaimed = 0;
  for (auto& tier : tiers_) {
    for (auto it = tier.ranked.begin(); it != tier.ranked.end();) {
      Block& b = *(it++)->block;
      const bool going = b.state.now().is_retired();
      if (!b.record->garbage || going) continue;
      mark_dead(b);
      ++reclaimed;
    }
  }
  if (reclaimed > 0) state_.monitor.changed();
  return reclaimed;
}

std::uint64_t BlockStore::rank_now(const BlockRecord& record) const noexcept {
  return record.garbage ? 0 : state_.announcer.policy().rank(facts(*record.block));
}

void BlockStore::rerank(Block& b) noexcept {
  if (!b.record->is_linked()) return;
  unrank(b);
  rank(b);
}

void BlockStore::rank(Block& b) noexcept {
  auto& record = *b.record;
  if (record.is_linked() || record.immovable || record.primary() == nullptr) return;
  const auto tier = record.primary()->tier;
  if (tiers_.is_slowest(tier) && !record.garbage) return;
  record.rank = rank_now(record);
  auto& ranked = tiers_[tier].ranked;
  ranked.insert(ranked.end(), record);  // a block that has just been used is hottest
}

void BlockStore::unrank(Block& b) noexcept {
  auto& record = *b.record;
  if (record.is_linked()) tiers_[record.primary()->tier].ranked.erase(RankedBlocks::s_iterator_to(record));
}

void BlockStore::refresh(Block& b) noexcept {
  const auto& record = *b.record;
  const Region* primary = record.primary();
  const bool unmapped =
      record.window_address != nullptr && b.address.load(std::memory_order_relaxed) == nullptr;
  const bool asks = door_is_closed_ || primary == nullptr || record.archived || record.garbage || unmapped ||
                    !tiers_.addressable(primary->tier) || tiers_[primary->tier].tier->charges() ||
                    (primary->tier != 0 && !record.remembered) ||
                    (state_.lifetime.is_in_child() && !is_copied_by_fork(b));
  const bool outside = primary == nullptr || primary->tier != 0;
  b.state.set_hints({asks, state_.announcer.wants_use(outside), outside, reserve_.is_passing(b)});
}

void BlockStore::refresh_all() noexcept {
  for (const auto& record : catalog_.blocks()) refresh(*record.block);
}

void BlockStore::close_door() noexcept {
  door_is_closed_ = true;
  refresh_all();
}

void BlockStore::open_door() noexcept {
  door_is_closed_ = false;
  refresh_all();
  state_.monitor.changed();
}

bool BlockStore::is_copied_by_fork(const Block& b) const noexcept {
  const Region* primary = b.record->primary();
  if (b.record->window_address != nullptr)
    return b.address.load(std::memory_order_relaxed) != nullptr &&
           pages_.existing_space()->is_copied_by_fork();
  return primary != nullptr && tiers_[primary->tier].tier->is_copied_by_fork();
}

}  // namespace tier
