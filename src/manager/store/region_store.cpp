// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "region_store.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/address_sanitizer.hpp"
#include "memory/system/pages.hpp"

namespace tier {

Region& RegionStore::describe(TierIndex t, RegionHeap::Slot slot) noexcept {
  auto& heap = tiers_[t].heap;
  auto& region = *static_cast<Region*>(heap.owner(slot));
  region.slot = slot;
  region.tier = t;
  region.block = nullptr;
  region.next = nullptr;
  region.version = 0;
  region.given_up = region.cached = region.claimed = region.has_space = false;
  region.pages = Pages::AtHome;
  region.bare = take_bare(t, heap.offset(slot), heap.size(slot));
  region.readers = 0;
  return region;
}

void RegionStore::tell_given_out(const Region& region) noexcept {
  auto& state = tiers_[region.tier];
  note_high_water(state);
  state_.announcer.tell_observers(RegionEvent{{}, 0, region.tier, {state.heap.size(region.slot)}, false},
                                  &Observer::on_region);
}

Region* RegionStore::region_at(TierIndex t, RegionHeap::Slot slot, std::error_code& cause) noexcept {
  Region& region = describe(t, slot);
  if (const auto error = claim(region)) {
    cause = error;
    give_back(&region);
    return nullptr;
  }
  tell_given_out(region);
  return &region;
}

Region* RegionStore::allocate(TierIndex t, std::uint64_t size, std::size_t alignment,
                              std::error_code& cause) noexcept {
  const auto preferred = tiers_.preferred_alignment(t, size, alignment);
  Region* const region = allocate_at(t, size, preferred, cause);
  return region != nullptr || preferred == alignment ? region : allocate_at(t, size, alignment, cause);
}

Region* RegionStore::allocate_at(TierIndex t, std::uint64_t size, std::size_t alignment,
                                 std::error_code& cause) noexcept {
  Region* region = nullptr;
  try {
    region = regions_.get();
  } catch (const std::bad_alloc&) {
    cause = std::make_error_code(std::errc::not_enough_memory);
    return nullptr;
  }
  auto slot = tiers_[t].heap.allocate(Bytes{size}, alignment, region);
  if (slot == RegionHeap::none && t == 0 && give_up_cached_())
    slot = tiers_[t].heap.allocate(Bytes{size}, alignment, region);
  if (slot == RegionHeap::none) {
    regions_.put(region);
    return nullptr;
  }
  return region_at(t, slot, cause);
}

Region* RegionStore::allocate_in(TierIndex t, RegionHeap::Slot hole, const Range& range) {
  Region* region = regions_.get();
  const auto slot = tiers_[t].heap.allocate_in(hole, Bytes{range.size}, range.alignment, region);
  if (slot == RegionHeap::none) {
    regions_.put(region);
    return nullptr;
  }
  std::error_code cause;
  return region_at(t, slot, cause);
}

void RegionStore::free(Region* region) noexcept {
  if (region->readers > 0) {
    region->block = nullptr;
    region->given_up = true;
    return;
  }
  give_back(region);
  state_.monitor.changed();
}

RegionHeap::Slot RegionStore::give_back(Region* region) noexcept {
  auto& state = tiers_[region->tier];
  const auto offset = state.heap.offset(region->slot);
  const auto size = state.heap.size(region->slot);
  if (region->claimed) state.tier->release(offset, size);
  if (region->claimed && !region->has_space) state.spaceless -= size;
  if (region->claimed && !region->cached) {
    state_.announcer.tell_observers(RegionEvent{{}, 0, region->tier, {size}, true}, &Observer::on_region);
  }
  if (region->cached) uncache(*region);
  give_back_bare(*region);
  allow_access(*region);
  const auto slot = state.heap.free(region->slot);
  regions_.put(region);
  return slot;
}

void RegionStore::condemn(Region* region) noexcept {
  tiers_[region->tier].heap.condemn(region->slot);
  regions_.put(region);
}

void RegionStore::allow_access(const Region& region) noexcept {
  if constexpr (!detail::finds_accesses) return;
  const auto& state = tiers_[region.tier];
  if (auto* const base = state.tier->base())
    detail::allow_access(base + state.heap.offset(region.slot), state.heap.size(region.slot));
}

// --- space -----------------------------------------------------------------------------------------------

/// Lets the tier count the region. Space that must be asked for is asked for later, without the lock: by `take_space`, or
/// by the transfer that fills the region.   \return  the error if the tier has no space
std::error_code RegionStore::claim(Region& region) noexcept {
  auto& state = tiers_[region.tier];
  const auto offset = state.heap.offset(region.slot), size = state.heap.size(region.slot);
  state.tier->claim(offset, size);
  const bool asks = state.tier->reserves();
  auto error = asks ? std::error_code{} : state.tier->reserve(offset, size);
  region.has_space = asks ? state.tier->has_space(offset, size) : !error;
  if (asks && !region.has_space) error = tiers_.refusals(region.tier).last();
  region.claimed = !error;
  if (error) state.tier->release(offset, size);
  if (!error && !region.has_space) state.spaceless += size;
  return error;
}

void RegionStore::note_space(Region& region) noexcept {
  if (region.has_space) return;
  auto& state = tiers_[region.tier];
  region.has_space = true;
  state.spaceless -= state.heap.size(region.slot);
  note_high_water(state);
}

void RegionStore::note_high_water(TierState& state) noexcept {
  state.high_water = std::max(state.high_water, state.used().count - state.spaceless);
}

bool RegionStore::take_space(Region*& region, std::error_code& cause, MutexLock& lock) {
  if (region->has_space) return true;
  Tier& tier = *tiers_[region->tier].tier;
  const auto& heap = tiers_[region->tier].heap;
  const auto offset = heap.offset(region->slot), size = heap.size(region->slot);
  std::error_code error;
  bool again = false;
  WindowSpace* const windows = tiers_.windows();
  state_.monitor.without_lock(lock, [&] {
    error = tier.reserve(offset, size);
    again = error && windows != nullptr && windows->settle();
    if (again) error = tier.reserve(offset, size);
  });
  state_.monitor.changed();  // other threads may have waited for a region without an owner
  if (!error) note_space(*region);
  if (!error) return true;
  cause = error;
  if (again) tiers_.refusals(region->tier).note(error);
  tiers_.refusals(region->tier).note(error);
  free(std::exchange(region, nullptr));
  return false;
}

// --- further copies of blocks ----------------------------------------------------------------------------

void RegionStore::attach_secondary(Block& b, Region* region, std::uint64_t version) noexcept {
  Region* primary = b.record->regions;
  region->block = &b;
  region->version = version;
  region->next = primary->next;
  primary->next = region;
  tiers_[region->tier].secondaries.push_back(*region);
}

void RegionStore::detach(Block& b, Region* region) noexcept {
  Region** link = &b.record->regions;
  while (*link != region) link = &(*link)->next;
  *link = region->next;
  tiers_[region->tier].secondaries.erase(RegionList::s_iterator_to(*region));
  region->next = nullptr;
  region->block = nullptr;
}

Region* RegionStore::unread_copy(Block& b, TierIndex t) noexcept {
  Region* copy = b.record->in(t);
  if (copy == nullptr || copy->readers == 0) return copy;
  detach(b, copy);
  free(copy);
  return nullptr;
}

bool RegionStore::drop_a_secondary(TierIndex t) noexcept {
  for (auto& region : tiers_[t].secondaries) {
    if (region.readers > 0) continue;  // still read by a transfer: dropping it gives no room now
    Block& b = *region.block;
    detach(b, &region);
    free(&region);
    ++state_.counters.totals.copies_dropped;
    return true;
  }
  return false;
}

// --- windows ---------------------------------------------------------------------------------------------

void RegionStore::make_bare(Region& region) noexcept {
  if (!region.bare && tiers_[region.tier].tier->has_private_pages())
    WindowSpace::drop(tiers_.home(region), tiers_[region.tier].heap.size(region.slot));
  region.bare = true;
}

/// \return  true if no page of a range that is being given out is present
bool RegionStore::take_bare(TierIndex t, std::uint64_t offset, std::uint64_t size) noexcept {
  auto& bare = tiers_[t].bare;
  if (bare.empty()) return false;
  const auto first = offset / page_size(), last = (offset + size - 1) / page_size();
  bool all = true;
  for (auto i = first; i <= last; ++i) {
    all = all && bare[i];
    bare[i] = false;
  }
  return all;
}

void RegionStore::give_back_bare(const Region& region) noexcept {
  auto& state = tiers_[region.tier];
  if (!region.bare || state.bare.empty()) return;
  const auto begin = state.heap.offset(region.slot), end = begin + state.heap.size(region.slot);
  for (auto i = round_up(begin, page_size()) / page_size(); i < end / page_size(); ++i) state.bare[i] = true;
}

void RegionStore::cache(Region& region) noexcept {
  auto& state = tiers_[region.tier];
  const auto size = state.heap.size(region.slot);
  state_.announcer.tell_observers(RegionEvent{{}, 0, region.tier, {size}, true}, &Observer::on_region);
  region.block = nullptr;
  region.cached = true;
  state.cached += size;
  ++state.cached_regions;
}

void RegionStore::uncache(Region& region) noexcept {
  auto& state = tiers_[region.tier];
  region.cached = false;
  state.cached -= state.heap.size(region.slot);
  --state.cached_regions;
}

}  // namespace tier
