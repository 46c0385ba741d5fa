// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Objects, blocks and regions: how they are made and freed, and what state they are in.
#include "live_managers.hpp"
#include "manager_core.hpp"

#include <tier/core/assert.hpp>
#include <tier/core/config.hpp>
#include <tier/core/error.hpp>
#include <tier/core/request_size.hpp>

#include <algorithm>
#include <bit>
#include <utility>

#include "core/address_sanitizer.hpp"

namespace tier {

// --- regions ---------------------------------------------------------------------------------------------

/// Describes a region for a slot that has just been taken and that its tier does not know yet.
Region& ManagerCore::describe(TierIndex t, RegionHeap::Slot slot) noexcept {
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

void ManagerCore::tell_given_out(const Region& region) noexcept {
  auto& state = tiers_[region.tier];
  note_high_water(state);
  RegionEvent event{{}, 0, region.tier, {state.heap.size(region.slot)}, false};
  announcer_.tell(event, &Observer::on_region);
}

Region* ManagerCore::region_at(TierIndex t, RegionHeap::Slot slot, std::error_code& cause) noexcept {
  Region& region = describe(t, slot);
  if (const auto error = claim(region)) {
    cause = error;
    give_back(&region);
    return nullptr;
  }
  tell_given_out(region);
  return &region;
}

/// Lets the tier count the region. Space that must be asked for is asked for later, without the lock: by `take_space`, or
/// by the transfer that fills the region.   \return  the error if the tier has no space
std::error_code ManagerCore::claim(Region& region) noexcept {
  auto& state = tiers_[region.tier];
  const auto offset = state.heap.offset(region.slot), size = state.heap.size(region.slot);
  state.tier->claim(offset, size);
  const bool asks = state.tier->reserves();
  auto error = asks ? std::error_code{} : state.tier->reserve(offset, size);
  region.has_space = asks ? state.tier->has_space(offset, size) : !error;
  if (asks && !region.has_space) error = refusals_[region.tier].last();
  region.claimed = !error;
  if (error) state.tier->release(offset, size);
  if (!error && !region.has_space) state.spaceless += size;
  return error;
}

/// Notes that the region has its space: it was given, or the system pages the block's window and none need be asked for.
void ManagerCore::note_space(Region& region) noexcept {
  if (region.has_space) return;
  auto& state = tiers_[region.tier];
  region.has_space = true;
  state.spaceless -= state.heap.size(region.slot);
  note_high_water(state);
}

void ManagerCore::note_high_water(TierState& state) noexcept {
  state.high_water = std::max(state.high_water, state.used().count - state.spaceless);
}

/// Asks the system for the region's space, without the lock.
/// \param region  without an owner; freed and set to null if there is no space
bool ManagerCore::take_space(Region*& region, std::error_code& cause, MutexLock& lock) {
  if (region->has_space) return true;
  Tier& tier = *tiers_[region->tier].tier;
  const auto& heap = tiers_[region->tier].heap;
  const auto offset = heap.offset(region->slot), size = heap.size(region->slot);
  std::error_code error;
  bool again = false;
  WindowSpace* const windows = windows_.get();
  without_lock(lock, [&] {
    error = tier.reserve(offset, size);
    again = error && windows != nullptr && windows->settle();
    if (again) error = tier.reserve(offset, size);
  });
  changed();  // other threads may have waited for a region without an owner
  if (!error) note_space(*region);
  if (!error) return true;
  cause = error;
  if (again) refusals_[region->tier].note(error);
  refusals_[region->tier].note(error);
  free_region(std::exchange(region, nullptr));
  return false;
}

Region* ManagerCore::allocate_region(TierIndex t, std::uint64_t size, std::size_t alignment,
                                     std::error_code& cause) noexcept {
  const auto preferred = preferred_alignment(t, size, alignment);
  Region* const region = allocate_region_at(t, size, preferred, cause);
  return region != nullptr || preferred == alignment ? region : allocate_region_at(t, size, alignment, cause);
}

Region* ManagerCore::allocate_region_at(TierIndex t, std::uint64_t size, std::size_t alignment,
                                        std::error_code& cause) noexcept {
  Region* region = nullptr;
  try {
    region = regions_.get();
  } catch (const std::bad_alloc&) {
    cause = std::make_error_code(std::errc::not_enough_memory);
    return nullptr;
  }
  auto slot = tiers_[t].heap.allocate(Bytes{size}, alignment, region);
  if (slot == RegionHeap::none && t == 0 && drop_cached_windows())
    slot = tiers_[t].heap.allocate(Bytes{size}, alignment, region);
  if (slot == RegionHeap::none) {
    regions_.put(region);
    return nullptr;
  }
  return region_at(t, slot, cause);
}

/// True if full windows take their pages from the tier.
bool ManagerCore::moves_pages(TierIndex t) const noexcept {
  return windows_ != nullptr && windows_->mode() == WindowMode::Full && tiers_[t].tier->has_private_pages();
}

/// Returns an alignment at which a huge page of a window can come and go in one piece.
std::size_t ManagerCore::preferred_alignment(TierIndex t, std::uint64_t size,
                                             std::size_t alignment) const noexcept {
  return size == huge_page && moves_pages(t) ? std::max(alignment, huge_page) : alignment;
}

/// Lets AddressSanitizer accept accesses to the region: its bytes are ours to copy, or those of an object to come.
void ManagerCore::allow_access(const Region& region) noexcept {
  if constexpr (!detail::finds_accesses) return;
  const auto& state = tiers_[region.tier];
  if (auto* const base = state.tier->base())
    detail::allow_access(base + state.heap.offset(region.slot), state.heap.size(region.slot));
}

/// \return  the free slot that it has become part of
RegionHeap::Slot ManagerCore::give_back(Region* region) noexcept {
  auto& state = tiers_[region->tier];
  const auto offset = state.heap.offset(region->slot);
  const auto size = state.heap.size(region->slot);
  if (region->claimed) state.tier->release(offset, size);
  if (region->claimed && !region->has_space) state.spaceless -= size;
  if (region->claimed && !region->cached) {
    RegionEvent event{{}, 0, region->tier, {size}, true};
    announcer_.tell(event, &Observer::on_region);
  }
  if (region->cached) uncache(*region);
  give_back_bare(*region);
  allow_access(*region);
  const auto slot = state.heap.free(region->slot);
  regions_.put(region);
  return slot;
}

/// Frees a region without an owner: now, or when the last transfer that reads it ends.
void ManagerCore::free_region(Region* region) noexcept {
  if (region->readers > 0) {
    region->block = nullptr;
    region->given_up = true;
    return;
  }
  give_back(region);
  changed();
}

void ManagerCore::stop_reading(Region* region) noexcept {
  if (--region->readers > 0) return;
  if (region->given_up)
    free_region(region);
  else if (region->block != nullptr && region->block->record->window_address != nullptr)
    release_if_dead(*region->block);
}

void ManagerCore::condemn_region(Region* region) noexcept {
  tiers_[region->tier].heap.condemn(region->slot);
  regions_.put(region);
}

void ManagerCore::attach_secondary(Block& b, Region* region, std::uint64_t version) noexcept {
  Region* primary = b.record->regions;
  region->block = &b;
  region->version = version;
  region->next = primary->next;
  primary->next = region;
  tiers_[region->tier].secondaries.push_back(*region);
}

/// Takes a secondary away from its block.
void ManagerCore::detach(Block& b, Region* region) noexcept {
  Region** link = &b.record->regions;
  while (*link != region) link = &(*link)->next;
  *link = region->next;
  tiers_[region->tier].secondaries.erase(RegionList::s_iterator_to(*region));
  region->next = nullptr;
  region->block = nullptr;
}

/// Returns the block's copy in a tier where it is not used. A copy that a device still reads, for a transfer that was given
/// up, is stale and must not be written: it is freed, and null is returned.
Region* ManagerCore::unread_copy(Block& b, TierIndex t) noexcept {
  Region* copy = b.record->in(t);
  if (copy == nullptr || copy->readers == 0) return copy;
  detach(b, copy);
  free_region(copy);
  return nullptr;
}

/// Makes a region without an owner the primary; the old primary, if any, stays a current secondary.
/// \param landed  where the bytes are if not in the region yet; only for windows
void ManagerCore::set_primary(Block& b, Region* region, const std::byte* landed) noexcept {
  unrank(b);
  Region* old = b.record->regions;
  const bool kept = old != nullptr && hide(b, *old);
  region->block = &b;
  region->next = old;
  b.record->regions = region;
  b.record->remembered = false;
#if defined(TIER_CHECKED)
  b.record->sealed_version = 0;  // a device that returns other bytes is no mistake of the program
#endif
  if (old == nullptr) living_ += round_up(b.size, granule_);
  if (old == nullptr) note_size(b);
  if (old != nullptr) {
    old->version = kept ? b.version.load(std::memory_order_relaxed) : 0;
    tiers_[old->tier].secondaries.push_back(*old);
  }
  if (b.record->window_address == nullptr) {
    const bool has_base = tiers_[region->tier].tier->base() != nullptr;
    b.address.store(has_base ? home(*region) : nullptr, std::memory_order_release);
    region->bare = false;
  } else if (shows_in(b, region->tier)) {
    show(b, landed);
  }
  rank(b);
  refresh(b);
  if (old == nullptr)
    announcer_.tell_observers(PlacementEvent{{}, b.id, region->tier}, &Observer::on_placement);
}

// --- state -----------------------------------------------------------------------------------------------

bool ManagerCore::dirty(const Block& b) const noexcept {
  const auto version = b.version.load(std::memory_order_relaxed);
  const Region* primary = b.record->primary();
  if (version == 0 || primary == nullptr) return false;
  if (mutated(Mutant::DirtyDecidedAtFetch)) return primary->next == nullptr;
  for (const Region* r = primary->next; r != nullptr; r = r->next)
    if (r->tier > primary->tier && (r->version == version || mutated(Mutant::StaleRegionPublished)))
      return false;
  return true;
}

BlockFacts ManagerCore::facts(const Block& b) const noexcept {
  const auto& record = *b.record;
  const auto state = b.state.glance();
  const auto version = b.version.load(std::memory_order_relaxed);
  BlockFacts f;
  f.id = b.id;
  f.size = {b.size};
  if (const Region* primary = record.primary()) {
    f.tier = primary->tier;
    f.current_copies = 1U << primary->tier;
    for (const Region* r = primary->next; r != nullptr; r = r->next)
      if (r->version == version) f.current_copies |= 1U << r->tier;
  }
  f.dirty = dirty(b);
  f.pinned = state.is_pinned();
  f.moving = state.is_moving();
  f.archived = record.archived;
  f.garbage = record.garbage;
  f.last_use = b.last_use.load(std::memory_order_relaxed);
  f.prefetched = f.last_use == record.prefetched;
  return f;
}

std::string_view ManagerCore::name_of(const Block& b) const noexcept {
  if (b.record->group != nullptr) return "a group of small objects";
  return b.record->object != nullptr ? std::string_view{b.record->object->name} : "freed object";
}

/// Sets the flags that send a use to the slow path.
void ManagerCore::refresh(Block& b) noexcept {
  const auto& record = *b.record;
  const Region* primary = record.primary();
  const bool unmapped =
      record.window_address != nullptr && b.address.load(std::memory_order_relaxed) == nullptr;
  const bool asks = line_.is_closed() || primary == nullptr || record.archived || record.garbage ||
                    unmapped || !addressable(primary->tier) || tiers_[primary->tier].tier->charges() ||
                    (primary->tier != 0 && !record.remembered) || (in_fork_child_ && !copied_by_fork(b));
  const bool outside = primary == nullptr || primary->tier != 0;
  b.state.set_hints({asks, announcer_.wants_use(outside), outside, is_passing(b)});
}

void ManagerCore::close_door(WaitingLine::Waiter& waiter) noexcept {
  line_.close_door(waiter);
  for (auto& [id, b] : by_id_) refresh(*b);
}

void ManagerCore::open_door(WaitingLine::Waiter& waiter) noexcept {
  line_.open_door(waiter);
  for (auto& [id, b] : by_id_) refresh(*b);
  changed();
}

std::uint64_t ManagerCore::rank_now(const BlockRecord& record) const noexcept {
  return record.garbage ? 0 : announcer_.policy().rank(facts(*record.block));
}

/// Ranks the block. In the slowest tier, from which nothing is proposed, only garbage is ranked.
void ManagerCore::rank(Block& b) noexcept {
  auto& record = *b.record;
  if (record.is_linked() || record.immovable || record.primary() == nullptr) return;
  const auto tier = record.primary()->tier;
  if (tier + 1u == tiers_.size() && !record.garbage) return;
  record.rank = rank_now(record);
  auto& ranked = tiers_[tier].ranked;
  ranked.insert(ranked.end(), record);  // a block that has just been used is hottest
}

void ManagerCore::unrank(Block& b) noexcept {
  auto& record = *b.record;
  if (record.is_linked()) tiers_[record.primary()->tier].ranked.erase(RankedBlocks::s_iterator_to(record));
}

/// Marks a settled block moving, if it has no pins beyond `own_pins`.
bool ManagerCore::start_moving(Block& b, std::uint32_t own_pins) noexcept {
  return b.state.try_begin_move(mutated(Mutant::PinIgnored) ? BlockState::any_pins : own_pins);
}

// --- blocks ----------------------------------------------------------------------------------------------

std::size_t ManagerCore::block_alignment(std::size_t size, std::size_t alignment) const noexcept {
  return std::max(alignment, size >= 4096 ? std::max(io_alignment_, granule_) : granule_);
}

/// Returns the bytes that a copy moves: the whole block, rounded up to whole sectors if a device needs them.
std::uint64_t ManagerCore::copied_size(const Block& b, TierIndex from, TierIndex to) const noexcept {
  const auto unit = std::max(tiers_[from].tier->io_alignment(), tiers_[to].tier->io_alignment());
  return round_up(b.size, unit);
}

Block& ManagerCore::new_block(std::uint64_t size, std::size_t alignment) {
  detail::check_request(size, alignment);  // from here on sizes are rounded up and added
  Block* b = blocks_.get();
  BlockRecord* record = nullptr;
  try {
    record = records_.get();
    by_id_.emplace(next_block_, b);
  } catch (...) {
    blocks_.put(b);
    if (record != nullptr) records_.put(record);
    throw;
  }
  *record = BlockRecord{};
  record->block = b;
  record->alignment = block_alignment(size, alignment);
  b->address.store(nullptr, std::memory_order_relaxed);
  b->version.store(0, std::memory_order_relaxed);
  b->last_use.store(clock_.stamp(), std::memory_order_relaxed);
  b->size = size;
  b->id = next_block_++;
  if (b->manager == nullptr) b->manager = this;  // never changed: the last scope to leave may read it late
  b->record = record;
  b->state.reset();
  refresh(*b);
  return *b;
}

/// \pre  no regions, no transfer, no pins
void ManagerCore::recycle(Block& b) noexcept {
  by_id_.erase(b.id);
  if (b.record->group != nullptr) {
    small_objects_.erase(*b.record->group);
  }
  if (b.record->window != nullptr) leave_window(b);
  records_.put(b.record);
  b.record = nullptr;
  b.state.reset();
  blocks_.put(&b);
}

void ManagerCore::free_contents(Block& b) noexcept {
  auto& record = *b.record;
  unrank(b);
  if (record.immovable && record.counted) {
    placed_[record.primary()->tier] -= tiers_[record.primary()->tier].heap.size(record.primary()->slot);
    record.counted = false;
  }
  if (record.primary() != nullptr) living_ -= round_up(b.size, granule_);
  const bool cached = record.dying && cache_pages(b);
  if (!cached && record.primary() != nullptr) std::ignore = hide(b, *record.primary());
  if (!cached && stays_put(b)) WindowSpace::drop(record.window_address, b.size);
  while (Region* region = record.regions) {
    if (region->next != nullptr) {
      Region* secondary = region->next;
      detach(b, secondary);
      free_region(secondary);
      continue;
    }
    record.regions = nullptr;
    if (cached)
      changed();  // its room counts as free now
    else
      free_region(region);
  }
  if (record.garbage) --garbage_;
  record.garbage = record.archived = record.writable = false;
  b.address.store(nullptr, std::memory_order_release);
  refresh(b);
}

/// Frees the parts of a group whose objects are gone, once the group has no pins: a scope may be on one of them.
void ManagerCore::free_parts(Block& b) noexcept {
  Group* const group = b.record->group;
  if (group == nullptr || group->leaving.none()) return;
  if (b.state.await_last_pin().is_pinned()) return;  // the last unpin comes here
  small_objects_.free_left(*group, b.record->dying);
}

/// Frees the bytes now, or with the last pin or transfer.
void ManagerCore::release_if_dead(Block& b) noexcept {
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

void ManagerCore::mark_dead(Block& b) noexcept {
  b.version.fetch_add(1, std::memory_order_relaxed);  // a copy in flight is not published
  if (b.record->transfer != nullptr) engine_.cancel(*b.record->transfer);
  ended_.fetch_add(1, std::memory_order_release);
  b.state.retire();
  release_if_dead(b);
}

/// With early freeing off, garbage goes once the slowest tier is 80 % full.
void ManagerCore::reclaim_if_full() noexcept {
  const auto& heap = tiers_.back().heap;
  if (garbage_ > 0 && tiers_.back().used().count / 8 > heap.capacity().count / 10) reclaim_garbage();
}

std::size_t ManagerCore::reclaim_garbage() noexcept {
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
  if (reclaimed > 0) changed();
  return reclaimed;
}

// --- objects ---------------------------------------------------------------------------------------------

Object& ManagerCore::new_object(Block& b, std::size_t offset, std::size_t size, std::string_view name) {
  Object* object = objects_pool_.get();
  try {
    object->name.assign(name);
  } catch (...) {
    objects_pool_.put(object);
    throw;
  }
  object->id = next_object_++;
  object->block = &b;
  object->offset = offset;
  object->size = size;
  object->grouped = object->cut = object->retired = false;
  object->window = nullptr;
  objects_.push_back(*object);
  note_memory(*object);
  if (b.record->group == nullptr) b.record->object = object;
  return *object;
}

void ManagerCore::forget(Object& object) noexcept {
  objects_.erase(objects_.iterator_to(object));
  object.id = 0;  // tells a thread that waits to revive the object
  object.name.clear();
  object.blocks.clear();
  objects_pool_.put(&object);  // keeps the memory of its name and list of blocks for the next object
}

/// Counts the memory that an object has taken beside its descriptor, and keeps.
void ManagerCore::note_memory(Object& object) noexcept {
  const auto of_name = object.name.capacity() > std::string{}.capacity() ? object.name.capacity() + 1 : 0;
  const auto all = of_name + object.blocks.capacity() * sizeof(Block*);
  beside_objects_ += all - std::exchange(object.memory, all);
}

/// Asks the policy where a block begins.
Placement ManagerCore::ask_where(const Block& b, std::string_view name) {
  AllocationEvent event{{}, b.id, {b.size}, name};
  announcer_.tell(event, &Observer::on_allocation);
  const Placement placement = announcer_.ask([&](Policy& p) { return p.place(event, *this); });
  return placement.tier < tiers_.size() ? placement : Placement{};
}

/// Finds the first region of a block: where the policy says, otherwise where there is room.
Region* ManagerCore::first_place(Block& b, std::string_view name, MutexLock& lock) {
  const Placement placement = ask_where(b, name);
  RoomReport report;
  reclaim_if_full();
  if (b.record->window_address != nullptr) leave_fast_room_for_faults(b, name);
  leave_room_for_faults(round_up(b.size, granule_), b.size, name, lock);
  if (Region* const cached = cached_region(b, placement.tier)) return cached;
  const Promise promise{*this, b.size};
  const auto n = static_cast<TierIndex>(tiers_.size());
  const auto nth = [&](TierIndex i) { return static_cast<TierIndex>((placement.tier + i) % n); };
  bool behind = false;
  const auto usable = [&](auto&& find) TIER_NO_THREAD_SAFETY_ANALYSIS -> Region* {
    for (unsigned asked = 0; asked <= SpaceRefusals::most; ++asked) {  // the last try takes room with space
      Region* r = find();
      if (r != nullptr && stays_put(b)) note_space(*r);
      if (r == nullptr || take_space(r, report.cause, lock)) return r;
    }
    return nullptr;
  };
  const auto allocate = [&](TierIndex t) TIER_NO_THREAD_SAFETY_ANALYSIS {
    return usable([&]() TIER_NO_THREAD_SAFETY_ANALYSIS {
      return allocate_region_in(t, range_for(b, t), behind, report.cause);
    });
  };
  const auto make = [&](TierIndex t) TIER_NO_THREAD_SAFETY_ANALYSIS {
    return usable([&]() TIER_NO_THREAD_SAFETY_ANALYSIS { return make_room_for(b, t, report, lock); });
  };
  do {
    if (Region* r = allocate(placement.tier)) return r;
  } while (stop_sliding(placement.tier, range_for(b, placement.tier), lock));
  if (placement.make_room)
    if (Region* r = make(placement.tier)) return r;
  for (;;) {
    for (TierIndex i = 1; i < n; ++i)  // the slower tiers, then the faster ones
      if (Region* r = allocate(nth(i))) return r;
    for (TierIndex i = 0; i < n; ++i)
      if (Region* r = make(nth(i))) return r;
    if (!room_may_come(lock)) throw_out_of_memory(b.size, name, report.cause);
  }
}

/// Waits for what ends by itself, never for pins: the caller may hold them. \return  false if there is nothing to wait for
bool ManagerCore::room_may_come(MutexLock& lock) {
  const RoomReport found = survey();
  if (found.again || !found.transient) return found.again;
  const auto began = timeline_.now_ns();
  hurry(false, lock);
  count_wait({}, began, StallCause::Room);
  return true;
}

/// Finds a place in a group, and makes a new group if none has room.
SmallObjects::Place ManagerCore::group_with_room(std::size_t size, std::size_t alignment,
                                                 std::string_view name, MutexLock& lock) {
  const auto found = small_objects_.find(size, alignment);
  if (found.group != nullptr) return found;
  auto group = std::make_unique<Group>();
  Block& b = new_block(Group::size, 4096);
  try {
    set_primary(b, first_place(b, name, lock));
  } catch (...) {
    b.record->dying = true;
    mark_dead(b);
    throw;
  }
  b.record->group = group.get();
  return small_objects_.add(std::move(group), b);
}

Object* ManagerCore::create_in_group(std::size_t size, std::size_t alignment, std::string_view name,
                                     MutexLock& lock) {
  const auto place = group_with_room(size, alignment, name, lock);
  Object* object = nullptr;
  try {
    object = &new_object(*place.group->block, place.first * Group::granule, size, name);
  } catch (...) {
    if (place.group->live == 0) forget_group(*place.group);
    throw;
  }
  object->alignment = static_cast<std::uint32_t>(alignment);
  small_objects_.take(place, *object);
  return object;
}

ObjectHandle ManagerCore::create(Bytes size, std::size_t alignment, std::string_view asked_name) {
  refuse_in_child("an allocation");
  const std::string name{asked_name};  // it may lie in a window, which must not be read under the lock
  TIER_VERIFY(std::has_single_bit(alignment) && alignment <= (std::size_t{2} << 20),
              "alignment is a power of two up to 2 MiB");
  const TellsFailure tells{*this};
  MutexLock lock{mutex_};
  drain_notes();
  const Inside inside{*this};
  auto self = shared_from_this();
  if (io_alignment_ > 1 && size.count < 4096 && alignment <= 4096) {
    Object* part = create_in_group(size.count, alignment, name, lock);
    tell_object(*part, ObjectChange::Made, alignment);
    check_watermarks();
    return {std::move(self), part};
  }
  Block& b = new_block(std::max<std::size_t>(size.count, 1), alignment);  // an empty object has a place
  Object* object = nullptr;
  try {
    set_primary(b, first_place(b, name, lock));
    object = &new_object(b, 0, size.count, name);
  } catch (...) {
    free_contents(b);
    recycle(b);
    throw;
  }
  tell_object(*object, ObjectChange::Made, alignment);
  clock_.advance();
  check_watermarks();
  return {std::move(self), object};
}

ObjectHandle ManagerCore::create_empty(Bytes size, std::size_t alignment, std::string_view asked_name) {
  if (io_alignment_ > 1 && size.count < 4096 && alignment <= 4096) {  // its group has a place all the same
    auto part = create(size, alignment, asked_name);
    retire(part.ref());
    return part;
  }
  refuse_in_child("an allocation");
  const std::string name{asked_name};  // as in create()
  TIER_VERIFY(std::has_single_bit(alignment) && alignment <= (std::size_t{2} << 20),
              "alignment is a power of two up to 2 MiB");
  MutexLock lock{mutex_};
  drain_own_notes();
  auto self = shared_from_this();
  Block& b = new_block(std::max<std::size_t>(size.count, 1), alignment);
  try {
    Object* const object = &new_object(b, 0, size.count, name);
    b.state.retire();
    refresh(b);
    return {std::move(self), object};
  } catch (...) {
    recycle(b);
    throw;
  }
}

PlacedStorage ManagerCore::allocate_fixed(Bytes size, std::size_t alignment, TierIndex t,
                                          std::string_view asked_name) {
  refuse_in_child("an allocation");
  const std::string name{asked_name};  // as in create()
  check_tier(t);
  TIER_VERIFY(std::has_single_bit(alignment) && alignment <= (std::size_t{2} << 20),
              "alignment is a power of two up to 2 MiB");
  MutexLock lock{mutex_};
  const Inside inside{*this};
  auto self = shared_from_this();
  Block& b =
      new_block(std::max<std::size_t>(size.count, 1), std::max(alignment, tiers_[t].tier->io_alignment()));
  b.record->immovable = true;
  Object* object = nullptr;
  Region* region = nullptr;
  try {
    // The promise counts for all threads: it is not given for what can never be there.
    const auto& heap = tiers_[t].heap;
    const auto fixed = placed_[t] + heap.condemned().count + round_up(b.size, granule_);
    if (fixed > heap.capacity().count) throw_out_of_memory(size.count, name, {});
    const PromiseToStay stays{*this, t, b.size};
    leave_room_for_faults(round_up(b.size, granule_), 0, name, lock);
    const Promise promise{*this, b.size};
    RoomReport report;
    while (region == nullptr) {
      if (t == 0 && !fits_beside_placed()) throw_out_of_memory(size.count, name, report.cause, Free::IsKept);
      region = make_room(t, {b.size, b.record->alignment, room_for_faults(t)}, b.id, report, lock);
      if (region != nullptr)
        take_space(region, report.cause, lock);  // if there is none the next look says so
      else if (!room_may_come(lock))
        throw_out_of_memory(size.count, name, report.cause);
    }
    set_primary(b, region);
    object = &new_object(b, 0, size.count, name);
  } catch (...) {
    free_contents(b);
    recycle(b);
    throw;
  }
  PlacedStorage storage;
  storage.handle_ = ObjectHandle{std::move(self), object};
  storage.tier_ = tiers_[t].tier.get();
  storage.index_ = t;
  storage.offset_ = tiers_[t].heap.offset(region->slot);
  placed_[t] += tiers_[t].heap.size(region->slot);
  b.record->counted = true;
  storage.address_ = b.address.load(std::memory_order_relaxed);
  tell_object(*object, ObjectChange::Made, alignment);
  return storage;
}

/// Gives up the part: its granules serve others once no scope has the group pinned.
void ManagerCore::leave_part(Object& object) noexcept {
  Group& group = *object.block->record->group;
  small_objects_.leave(group, object);
  free_parts(*group.block);
}

void ManagerCore::forget_group(Group& group) noexcept {
  small_objects_.retire(group);
  group.block->record->dying = true;
  keep_while_pinned(*group.block);
  mark_dead(*group.block);
}

/// Forgets an object of the group that is gone, or has a place in another group.
void ManagerCore::forget_part(Group& group) noexcept {
  if (small_objects_.forget_one(group)) forget_group(group);
}

/// Keeps the manager alive while the block is pinned: a scope may outlive the last handle.
void ManagerCore::keep_while_pinned(Block& b) noexcept {
  if (b.record->kept) return;
  // From here on the last unpin tells us; until then the block stays.
  const auto old = b.state.await_last_pin();
  if (!old.is_pinned()) return;
  b.record->kept = true;
  if (kept_++ == 0) keeper_ = shared_from_this();
}

void ManagerCore::destroy(Object& object) noexcept {
  if (in_fork_child_) return;
  MutexLock lock{mutex_};
  drain_notes();
  tell_object(object, ObjectChange::Destroyed);
  if (object.grouped) {
    if (!object.retired) leave_part(object);
    forget_part(*object.block->record->group);
  } else {
    for_each_block(object, [&](Block& b) TIER_NO_THREAD_SAFETY_ANALYSIS { abandon(b); });
  }
  forget(object);
  changed();
}

/// Ends a block that has no object any more.
void ManagerCore::abandon(Block& b) noexcept {
  auto& record = *b.record;
  record.object = nullptr;
  record.dying = true;
  const bool freed =
      announcer_.policy().frees_early() || record.immovable || closed_ || record.primary() == nullptr;
  RetireEvent event{{}, b.id, freed};
  announcer_.tell(event, &Observer::on_retire);
  announcer_.ask([&](Policy& p) { p.on_retire(event, *this); });
  keep_while_pinned(b);
  if (freed || b.state.glance().is_retired()) {
    mark_dead(b);
  } else if (!record.garbage) {
    become_garbage(b);
  }
}

void ManagerCore::become_garbage(Block& b) noexcept {
  b.record->garbage = true;
  ++garbage_;
  rank(b);
}

void ManagerCore::clear_garbage(Block& b) noexcept {
  b.record->garbage = false;
  --garbage_;
  unrank(b);
  rank(b);
}

/// Retires a part of a group. The policy is not told, because the rest of the group goes on.
void ManagerCore::retire_part(Object& object) noexcept {
  if (object.retired || !announcer_.policy().frees_early()) return;
  tell_object(object, ObjectChange::Retired);
  object.retired = true;
  leave_part(object);
}

void ManagerCore::revive(ObjectRef ref) {
  refuse_in_child("an allocation");
  MutexLock lock{mutex_};
  drain_notes();
  const Inside inside{*this};
  Object& object = const_cast<Object&>(*ref.object);
  if (!object.retired) return;
  if (small_objects_.stay(*object.block->record->group, object))  // pinned since then: it still has its place
    return tell_object(object, ObjectChange::Revived, object.alignment);
  const auto id = object.id;
  const std::string name{object.name};
  const auto place = group_with_room(object.size, object.alignment, name, lock);
  // The lock may have been released: the object may be gone, or another scope has revived it and may have retired it again.
  if (object.id != id || !object.retired) {
    if (place.group->live == 0) forget_group(*place.group);
    if (object.id != id) throw_retired("destroyed during a scope's entry");
    return;
  }
  Group& old = *object.block->record->group;
  small_objects_.take(place, object);
  forget_part(old);
  tell_object(object, ObjectChange::Revived, object.alignment);
}

void ManagerCore::revive(BlockId id) { revive(id, true); }

void ManagerCore::revive(BlockId id, bool whole) {
  refuse_in_child("an allocation");
  MutexLock lock{mutex_};
  drain_notes();
  const Inside inside{*this};
  Block& b = *find(id);
  auto& record = *b.record;
  if (record.dying) throw_retired("destroyed during a scope's entry");
  const bool retired = b.state.glance().is_retired();
  if (!whole && !retired && !record.garbage) return;
  if (record.primary() == nullptr) {
    const std::string name{name_of(b)};  // the object may go while the lock is released
    Region* const place = first_place(b, name, lock);
    // The lock may have been released: the block may be gone, or another scope has revived it.
    if (record.dying || record.primary() != nullptr) {
      free_region(place);
    } else {
      b.version.store(0, std::memory_order_relaxed);
      set_primary(b, place);
    }
    if (record.dying) throw_retired("destroyed during a scope's entry");
  }
  if (record.garbage) clear_garbage(b);  // early freeing is off
  b.state.recover();
  b.state.revive();
  refresh(b);
  check_watermarks();
}

Operand Operand::of_part(ObjectRef ref, Use use) {
  const Object& o = *ref.object;
  if (o.retired && use != Use::Overwrite) throw_retired(o.name);
  if (o.retired) o.block->manager->revive(ref);
  return {o.block, nullptr, o.id, o.offset, o.size, use == Use::Overwrite ? Use::Update : use, false};
}

void ManagerCore::retire(ObjectRef ref) noexcept {
  if (in_fork_child_) return;
  MutexLock lock{mutex_};
  drain_notes();
  if (ref.object->grouped) return retire_part(const_cast<Object&>(*ref.object));
  tell_object(*ref.object, ObjectChange::Retired);
  for_each_block(*ref.object, [&](Block& b) TIER_NO_THREAD_SAFETY_ANALYSIS { retire_block(b); });
}

void ManagerCore::retire(BlockId id) noexcept {
  if (in_fork_child_) return;
  MutexLock lock{mutex_};
  drain_notes();
  if (Block* const b = find(id)) retire_block(*b);
}

void ManagerCore::retire_block(Block& b) noexcept {
  auto& record = *b.record;
  if (b.state.glance().is_retired() || record.immovable || record.garbage) return;
  const bool freed = announcer_.policy().frees_early() || closed_;
  RetireEvent event{{}, b.id, freed};
  announcer_.tell(event, &Observer::on_retire);
  announcer_.ask([&](Policy& p) { p.on_retire(event, *this); });
  if (freed) return mark_dead(b);
  become_garbage(b);
  refresh(b);  // a use that writes must end the block's being garbage
}

void ManagerCore::last_unpinned(BlockId id) noexcept {
  if (in_fork_child_) return;
  std::shared_ptr<Manager> keeper;  // may be our last owner: released after the lock
  MutexLock lock{mutex_};
  Block* const b = find(id);
  if (b == nullptr || b->pins() != 0) return;
  b->state.stop_awaiting();
  if (std::exchange(b->record->kept, false)) --kept_;
  release_if_dead(*b);
  changed();
  keeper = needless_keeper();
}

/// Returns the pointer that keeps us alive, if no scope is open on a destroyed object. Release it without the lock.
std::shared_ptr<Manager> ManagerCore::needless_keeper() noexcept {
  return kept_ == 0 ? std::move(keeper_) : nullptr;
}

void Block::last_left(const Manager* manager, BlockId id) noexcept {
  if (const auto live = LiveManagers::instance().find(manager))
    static_cast<ManagerCore&>(*live).last_unpinned(id);
}

ObjectHandle& ObjectHandle::operator=(ObjectHandle&& other) noexcept {
  if (this == &other) return *this;
  reset();
  manager_ = std::move(other.manager_);
  object_ = std::exchange(other.object_, nullptr);
  return *this;
}

void ObjectHandle::reset() noexcept {
  if (object_ == nullptr) return;
  // The core may end with this handle: it must not end inside its own lock.
  const auto manager = std::move(manager_);
  manager->destroy(*const_cast<Object*>(std::exchange(object_, nullptr)));
}

}  // namespace tier
