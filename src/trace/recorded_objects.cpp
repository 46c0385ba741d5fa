// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/recorded_objects.hpp"

#include <tier/manager/observer.hpp>

#include <algorithm>
#include <span>

namespace tier::trace {

RecordedObjects::RecordedObjects(const RecordedEvents& recorded) {
  for (const auto& event : recorded.events)
    if (event.kind == RecordKind::Object) collect(recorded, event);
}

void RecordedObjects::collect(const RecordedEvents& recorded, const RecordedEvent& event) {
  const auto words = recorded.words_of(event);
  const auto [found, is_new] = by_id_.try_emplace(words[0], static_cast<std::uint32_t>(objects_.size()));
  if (is_new) {
    auto& made = objects_.emplace_back();
    made.id = words[0];
    made.name = event.name;
    made.grouped = (event.y & grouped_object) != 0;
    made.alignment = words[2];
    if ((event.y & placed_object) != 0) fixed_[event.name].push_back(found->second);
  }
  auto& object = objects_[found->second];
  object.size = std::max(object.size, words[1]);
  const auto blocks = words.subspan(3);
  if (blocks.size() >= object.blocks.size() || object.grouped)
    object.blocks.assign(blocks.begin(), blocks.end());
  const auto change = static_cast<ObjectChange>(event.x);
  const bool comes = change == ObjectChange::Made || change == ObjectChange::Revived;
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    auto& block = blocks_[blocks[i]];
    if (!comes && !block.objects.empty()) continue;
    block.number = i;
    block.objects.push_back(found->second);
  }
  last_id_ = std::max(last_id_, words[0]);
}

void RecordedObjects::begin_walk() {
  for (auto& o : objects_) {
    o.life = o.operand = no_index;
    o.alive = o.destroyed = o.created = o.placed = false;
  }
  for (auto& [number, block] : blocks_) {
    block.tier = no_tier;
    block.first = 0;
  }
}

RecordedBlock* RecordedObjects::find_block(std::uint64_t id) {
  const auto found = blocks_.find(id);
  return found != blocks_.end() ? &found->second : nullptr;
}

std::optional<std::uint32_t> RecordedObjects::find(std::uint64_t id) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return {};
  return found->second;
}

std::optional<std::uint32_t> RecordedObjects::find_at(std::uint64_t block) {
  auto* const found = find_block(block);
  if (found == nullptr || found->objects.empty()) return {};
  const auto& objects = found->objects;
  auto& first = found->first;
  while (first < objects.size() && objects_[objects[first]].destroyed) ++first;
  const auto rest = std::span{objects}.subspan(first);
  const auto alive = std::ranges::find_if(rest, [&](std::uint32_t o) { return objects_[o].alive; });
  if (alive != rest.end()) return *alive;
  const auto had = std::ranges::find_if(objects.rbegin(), objects.rend(),
                                        [&](std::uint32_t o) { return objects_[o].life != no_index; });
  return had != objects.rend() ? *had : objects.front();
}

std::optional<std::uint32_t> RecordedObjects::find_home(const RecordedEvent& rows_moved) const {
  const auto named = fixed_.find(rows_moved.name);
  if (named == fixed_.end()) return {};
  const auto slower = std::max(rows_moved.x, rows_moved.y);
  const auto found = std::ranges::find_if(named->second, [&](std::uint32_t o) {
    return objects_[o].alive && block(objects_[o].blocks.front()).tier == slower;
  });
  if (found == named->second.end()) return {};
  return *found;
}

std::uint32_t RecordedObjects::block_number(std::uint64_t id, std::uint32_t object) const {
  return objects_[object].blocks.size() > 1 ? block(id).number : whole_tensor;
}

}  // namespace tier::trace
