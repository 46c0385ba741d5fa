// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "manager/movement/watermarks.hpp"
#include "out_of_memory.hpp"

namespace tier {

/// True for objects too small to move alone where a tier wants direct I/O.
bool Objects::shares_a_block(std::size_t size, std::size_t alignment) const noexcept {
  return store_.tiers.io_alignment() > 1 && size < 4096 && alignment <= 4096;
}

Object& Objects::create(std::size_t size, std::size_t alignment, std::string_view name, MutexLock& lock) {
  const CallInProgress call{state_, store_, movement_.compactor};
  if (shares_a_block(size, alignment)) {
    Object& part = create_in_group(size, alignment, name, lock);
    tell(part, ObjectChange::Made, alignment);
    check_watermarks(state_, store_);
    return part;
  }
  Block& b = store_.blocks.add(std::max<std::size_t>(size, 1), alignment);  // an empty object has a place
  Object* object = nullptr;
  try {
    store_.blocks.set_primary(b, places_.find(b, name, lock));
    object = &store_.catalog.add_object(b, 0, size, name);
  } catch (...) {
    store_.blocks.discard(b);
    throw;
  }
  tell(*object, ObjectChange::Made, alignment);
  state_.clock.advance();
  check_watermarks(state_, store_);
  return *object;
}

Object& Objects::create_empty(std::size_t size, std::size_t alignment, std::string_view name,
                              MutexLock& lock) {
  if (shares_a_block(size, alignment)) {  // its group has a place all the same
    Object& part = create(size, alignment, name, lock);
    retire_part(part);
    return part;
  }
  Block& b = store_.blocks.add(std::max<std::size_t>(size, 1), alignment);
  try {
    Object& object = store_.catalog.add_object(b, 0, size, name);
    b.state.retire();
    store_.blocks.refresh(b);
    return object;
  } catch (...) {
    store_.blocks.recycle(b);
    throw;
  }
}

Object& Objects::create_fixed(std::size_t size, std::size_t alignment, TierIndex t, std::string_view name,
                              MutexLock& lock) {
  const CallInProgress call{state_, store_, movement_.compactor};
  auto& tier = store_.tiers[t];
  Block& b =
      store_.blocks.add(std::max<std::size_t>(size, 1), std::max(alignment, tier.tier->io_alignment()));
  b.record->immovable = true;
  Object* object = nullptr;
  try {
    store_.blocks.set_primary(b, places_.find_fixed(b, t, name, lock));
    object = &store_.catalog.add_object(b, 0, size, name);
  } catch (...) {
    store_.blocks.discard(b);
    throw;
  }
  store_.reserve.add_placed(t, tier.heap.size(b.record->primary()->slot));
  b.record->counted = true;
  tell(*object, ObjectChange::Made, alignment);
  return *object;
}

void Objects::destroy(Object& object) noexcept {
  tell(object, ObjectChange::Destroyed);
  if (object.grouped) {
    if (!object.retired) leave_part(object);
    forget_part(*object.block->record->group);
  } else {
    for_each_block(object, [&](Block& b) { abandon(b); });
  }
  store_.catalog.erase(object);
  state_.monitor.changed();
}

/// Tells that the contents of a block are dead.
/// \param frees  they are freed whatever the policy wants   \return  true if they are freed now
bool Objects::tell_retired(const Block& b, bool frees) noexcept {
  const bool freed = frees || state_.announcer.policy().frees_early() || state_.lifetime.is_closed();
  RetireEvent event{{}, b.id, freed};
  state_.announcer.tell_often(event, &Observer::on_retire);
  state_.announcer.ask([&](Policy& p, PolicyContext& context) { p.on_retire(event, context); });
  return freed;
}

/// Ends a block that has no object any more.
void Objects::abandon(Block& b) noexcept {
  auto& record = *b.record;
  record.object = nullptr;
  record.dying = true;
  const bool freed = tell_retired(b, record.immovable || record.primary() == nullptr);
  state_.lifetime.keep_while_pinned(b);
  if (freed || b.state.glance().is_retired()) {
    store_.blocks.mark_dead(b);
  } else if (!record.garbage) {
    store_.blocks.become_garbage(b);
  }
}

void Objects::retire(Object& object) noexcept {
  if (object.grouped) return retire_part(object);
  tell(object, ObjectChange::Retired);
  for_each_block(object, [&](Block& b) { retire(b); });
}

void Objects::retire(Block& b) noexcept {
  const auto& record = *b.record;
  if (b.state.glance().is_retired() || record.immovable || record.garbage) return;
  if (tell_retired(b, false)) return store_.blocks.mark_dead(b);
  store_.blocks.become_garbage(b);
  store_.blocks.refresh(b);  // a use that writes must end the block's being garbage
}

void Objects::revive_part(Object& object, MutexLock& lock) {
  const CallInProgress call{state_, store_, movement_.compactor};
  if (!object.retired) return;
  auto& small_objects = store_.small_objects;
  if (small_objects.stay(*object.block->record->group, object))  // pinned since then: it still has its place
    return tell(object, ObjectChange::Revived, object.alignment);
  const auto id = object.id;
  const std::string name{object.name};
  const auto place = group_with_room(object.size, object.alignment, name, lock);
  // The lock may have been released: the object may be gone, or another scope has revived it and may have retired it again.
  if (object.id != id || !object.retired) {
    if (place.group->live == 0) forget_group(*place.group);
    if (object.id != id) throw_destroyed();
    return;
  }
  Group& old = *object.block->record->group;
  small_objects.take(place, object);
  forget_part(old);
  tell(object, ObjectChange::Revived, object.alignment);
}

void Objects::revive(Block& b, bool whole, MutexLock& lock) {
  const CallInProgress call{state_, store_, movement_.compactor};
  auto& record = *b.record;
  if (record.dying) throw_destroyed();
  const bool retired = b.state.glance().is_retired();
  if (!whole && !retired && !record.garbage) return;
  if (record.primary() == nullptr) {
    const std::string name{name_of(b)};  // the object may go while the lock is released
    Region* const place = places_.find(b, name, lock);
    // The lock may have been released: the block may be gone, or another scope has revived it.
    if (record.dying || record.primary() != nullptr) {
      store_.regions.free(place);
    } else {
      b.version.store(0, std::memory_order_relaxed);
      store_.blocks.set_primary(b, place);
    }
    if (record.dying) throw_destroyed();
  }
  if (record.garbage) store_.blocks.clear_garbage(b);  // early freeing is off
  b.state.recover();
  b.state.revive();
  store_.blocks.refresh(b);
  check_watermarks(state_, store_);
}

/// Finds a place in a group, and makes a new group if none has room.
SmallObjects::Place Objects::group_with_room(std::size_t size, std::size_t alignment, std::string_view name,
                                             MutexLock& lock) {
  const auto found = store_.small_objects.find(size, alignment);
  if (found.group != nullptr) return found;
  auto group = std::make_unique<Group>();
  Block& b = store_.blocks.add(Group::size, 4096);
  try {
    store_.blocks.set_primary(b, places_.find(b, name, lock));
  } catch (...) {
    b.record->dying = true;
    store_.blocks.mark_dead(b);
    throw;
  }
  b.record->group = group.get();
  return store_.small_objects.add(std::move(group), b);
}

Object& Objects::create_in_group(std::size_t size, std::size_t alignment, std::string_view name,
                                 MutexLock& lock) {
  const auto place = group_with_room(size, alignment, name, lock);
  Object* object = nullptr;
  try {
    object = &store_.catalog.add_object(*place.group->block, place.first * Group::granule, size, name);
  } catch (...) {
    if (place.group->live == 0) forget_group(*place.group);
    throw;
  }
  object->alignment = static_cast<std::uint32_t>(alignment);
  store_.small_objects.take(place, *object);
  return *object;
}

/// Gives up the part: its granules serve others once no scope has the group pinned.
void Objects::leave_part(Object& object) noexcept {
  Group& group = *object.block->record->group;
  store_.small_objects.leave(group, object);
  store_.blocks.free_parts(*group.block);
}

void Objects::forget_group(Group& group) noexcept {
  store_.small_objects.retire(group);
  group.block->record->dying = true;
  state_.lifetime.keep_while_pinned(*group.block);
  store_.blocks.mark_dead(*group.block);
}

/// Forgets an object of the group that is gone, or has a place in another group.
void Objects::forget_part(Group& group) noexcept {
  if (store_.small_objects.forget_one(group)) forget_group(group);
}

/// Retires a part of a group. The policy is not told, because the rest of the group goes on.
void Objects::retire_part(Object& object) noexcept {
  if (object.retired || !state_.announcer.policy().frees_early()) return;
  tell(object, ObjectChange::Retired);
  object.retired = true;
  leave_part(object);
}

ObjectEvent Objects::event_of(const Object& object, ObjectChange change, std::size_t alignment) noexcept {
  return {{}, change, {&object}, alignment, object.block->record->immovable};
}

void Objects::tell(const Object& object, ObjectChange change, std::size_t alignment) noexcept {
  state_.announcer.tell_observers(event_of(object, change, alignment), &Observer::on_object);
}

}  // namespace tier
