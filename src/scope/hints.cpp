// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/assert.hpp>
#include <tier/scope/archive_scope.hpp>
#include <tier/scope/hints.hpp>

namespace tier {
namespace detail {
namespace {
Manager& manager_of(ObjectRef object) noexcept { return *object.object->block->manager; }
}  // namespace

void give_hint(Hint hint, ObjectRef object) {
  if (object.object != nullptr) manager_of(object).hint(hint, object, innermost_scope());
}

Outcome begin_prefetch(ObjectRef object) noexcept {
  return object.object != nullptr ? manager_of(object).prefetch(object) : Outcome::Done;
}

void retire_object(ObjectRef object) noexcept {
  if (object.object != nullptr) manager_of(object).retire(object);
}

void migrate(std::span<const BlockRef> blocks, TierIndex tier) {
  if (blocks.empty()) return;
  std::vector<BlockId> ids;
  ids.reserve(blocks.size());
  for (const auto& block : blocks) {
    TIER_VERIFY(block.manager == blocks.front().manager, "what migrates at once belongs to one runtime");
    ids.push_back(block.id);
  }
  blocks.front().manager->migrate(ids, tier);
}

}  // namespace detail

ArchiveScope::ArchiveScope(std::span<const ObjectRef> objects) : objects_{objects.begin(), objects.end()} {
  for (const auto object : objects_) detail::give_hint(Hint::Archive, object);
}

ArchiveScope::~ArchiveScope() {
  for (const auto object : objects_)
    if (object.object != nullptr)
      object.object->block->manager->hint_later(Hint::WillUse, object, detail::innermost_scope());
}

}  // namespace tier
