// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>
#include <tier/scope/archive_scope.hpp>
#include <tier/scope/hints.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace tier {
namespace detail {
namespace {
Manager& manager_of(ObjectRef object) noexcept { return *object.object->block->manager; }

/// Returns all of these blocks, each once, in as few runs as possible.
std::vector<OwnedRun> runs_of(std::vector<BlockRef> blocks) {
  constexpr auto key = [](const BlockRef& block) { return std::pair{block.manager, block.id}; };
  std::ranges::sort(blocks, {}, key);
  const auto is_same = [&](const BlockRef& a, const BlockRef& b) { return key(a) == key(b); };
  blocks.erase(std::unique(blocks.begin(), blocks.end(), is_same), blocks.end());
  std::vector<OwnedRun> runs;
  for (const auto& [manager, id] : blocks) {
    const bool follows = !runs.empty() && runs.back().manager == manager &&
                         runs.back().blocks.first + runs.back().blocks.count == id &&
                         runs.back().blocks.count < std::numeric_limits<std::uint32_t>::max();
    if (follows)
      ++runs.back().blocks.count;
    else
      runs.push_back({manager, {id, 1}});
  }
  return runs;
}

}  // namespace

void give_hint(Hint hint, ObjectRef object) {
  if (object.object != nullptr) manager_of(object).hint(hint, object, innermost_scope());
}

void give_hint(Hint hint, std::vector<BlockRef> blocks) {
  for (const auto& run : runs_of(std::move(blocks))) run.manager->hint(hint, run.blocks, innermost_scope());
}

Outcome begin_prefetch(ObjectRef object) noexcept {
  return object.object != nullptr ? manager_of(object).prefetch(object) : Outcome::Done;
}

void retire_object(ObjectRef object) noexcept {
  if (object.object != nullptr) manager_of(object).retire(object);
}

void migrate(std::span<const BlockRef> blocks, TierIndex tier) {
  if (blocks.empty()) return;
  const auto tiers = blocks.front().manager->tier_count();
  if (tier >= tiers)
    throw ConfigError{"no such tier", std::to_string(tier), 0, "0 to " + std::to_string(tiers - 1)};
  std::vector<BlockId> ids;
  ids.reserve(blocks.size());
  for (const auto& block : blocks) {
    TIER_VERIFY(block.manager == blocks.front().manager,
                "objects that migrate in one call must belong to one runtime");
    ids.push_back(block.id);
  }
  blocks.front().manager->migrate(ids, tier);
}

void refuse_plain_memory() {
  throw ConfigError{
      "migrate: no byte of the object is in a window, so it cannot move; allocate it from a "
      "MigratingResource, an "
      "ArenaResource, or a pool or group over one"};
}

}  // namespace detail

ArchiveScope::ArchiveScope(std::span<const ObjectRef> objects) : objects_{objects.begin(), objects.end()} {
  archive_all();
}

ArchiveScope::ArchiveScope(ArchiveScope&& other) noexcept
    : objects_{std::move(other.objects_)}, runs_{std::move(other.runs_)} {
  other.objects_.clear();
  other.runs_.clear();
}

void ArchiveScope::add_runs(std::vector<BlockRef> blocks) {
  const auto runs = detail::runs_of(std::move(blocks));
  runs_.insert(runs_.end(), runs.begin(), runs.end());
}

void ArchiveScope::archive_all() const {
  for (const auto object : objects_) detail::give_hint(Hint::Archive, object);
  for (const auto& run : runs_) run.manager->hint(Hint::Archive, run.blocks, detail::innermost_scope());
}

ArchiveScope::~ArchiveScope() {
  const auto scope = detail::innermost_scope();
  for (const auto object : objects_)
    if (object.object != nullptr) detail::manager_of(object).hint_later(Hint::WillUse, object, scope);
  for (const auto& run : runs_) run.manager->hint_later(Hint::WillUse, run.blocks, scope);
}

}  // namespace tier
