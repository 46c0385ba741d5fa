// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "small_objects.hpp"

#include <algorithm>

namespace tier {
namespace {

constexpr std::size_t granules_of(std::size_t size) noexcept {
  return std::max<std::size_t>(1, (size + Group::granule - 1) / Group::granule);
}

/// Sets or clears the bits of the object's granules.
void mark(std::bitset<Group::granules>& bits, const Object& object, bool value) noexcept {
  const auto first = object.offset / Group::granule;
  for (std::size_t i = 0; i < granules_of(object.size); ++i) bits.set(first + i, value);
}

}  // namespace

SmallObjects::Place SmallObjects::find(std::size_t size, std::size_t alignment) noexcept {
  const auto granules = granules_of(size);
  const auto step = std::max<std::size_t>(1, alignment / Group::granule);
  for (auto& group : with_room_) {
    for (std::size_t at = 0; at + granules <= Group::granules; at += step) {
      std::size_t free = 0;
      while (free < granules && !group.used[at + free]) ++free;
      if (free == granules) return {&group, at};
    }
  }
  return {};
}

SmallObjects::Place SmallObjects::add(std::unique_ptr<Group> group, Block& block) noexcept {
  Group& added = *group.release();
  added.block = &block;
  ++count_;
  with_room_.push_front(added);
  added.listed = true;
  return {&added, 0};
}

void SmallObjects::take(Place place, Object& object) noexcept {
  Group& group = *place.group;
  object.block = group.block;
  object.offset = place.first * Group::granule;
  object.grouped = true;
  object.retired = false;
  mark(group.used, object, true);
  ++group.live;
  if (group.used.all()) retire(group);
}

void SmallObjects::leave(Group& group, Object& object) noexcept {
  mark(group.leaving, object, true);
  object.retired_at = group.frees;
}

bool SmallObjects::stay(Group& group, Object& object) noexcept {
  if (object.retired_at != group.frees) return false;
  mark(group.leaving, object, false);
  object.retired = false;
  return true;
}

void SmallObjects::free_left(Group& group, bool dying) noexcept {
  group.used &= ~group.leaving;
  group.leaving.reset();
  ++group.frees;
  if (group.listed || dying) return;
  with_room_.push_front(group);
  group.listed = true;
}

bool SmallObjects::forget_one(Group& group) noexcept {
  if (--group.live > 0) return false;
  retire(group);
  return true;
}

void SmallObjects::retire(Group& group) noexcept {
  if (group.listed) with_room_.erase(with_room_.iterator_to(group));
  group.listed = false;
}

void SmallObjects::erase(Group& group) noexcept {
  retire(group);
  delete &group;
  --count_;
}

}  // namespace tier
