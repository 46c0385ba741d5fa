// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Memory that was allocated together, as scopes and hints see it.
#include <tier/core/export.hpp>
#include <tier/core/function_ref.hpp>
#include <tier/scope/traits.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <memory_resource>

namespace tier {

/// Memory that was allocated together, so that a scope or a hint can name all of it: `MigratingResource`,
/// `GroupResource`, `ArenaResource`, and `PoolResource` over one of these. Scopes and hints on a group cover every block
/// of a window that it has when they begin; scopes also cover blocks that come to it before they end.
class TIER_EXPORT AllocationGroup {
 public:
  /// Returns how many blocks of windows the group has.
  [[nodiscard]] virtual std::size_t block_count() const noexcept = 0;
  /// Calls `visit` with an address in each block, at most `at_most` times; no block is freed meanwhile.
  virtual void for_each_block(std::size_t at_most, FunctionRef<void(const void*)> visit) const = 0;
  /// Pins blocks that come to the group, as far as a scope would pin them, until the returned object ends. That may be on
  /// any thread, perhaps after the group's end. Null: they are not pinned.
  [[nodiscard]] virtual std::shared_ptr<void> cover() const { return nullptr; }
  /// True if a scope or hint on any container in the group covers all of it.
  [[nodiscard]] virtual bool is_one_unit() const noexcept { return false; }

 protected:
  ~AllocationGroup() = default;
};

namespace detail {
/// Returns the group that is, or is behind, a memory resource; null if there is none.
[[nodiscard]] TIER_EXPORT const AllocationGroup* group_of(const std::pmr::memory_resource* resource) noexcept;
/// True if memory from the resource may lie in windows: behind pools and groups there is a resource with windows.
[[nodiscard]] TIER_EXPORT bool has_windows(const std::pmr::memory_resource* resource) noexcept;
/// Calls `visit` with an address in each block of a range, as far as it lies in a window. \return  how often
TIER_EXPORT std::size_t visit_blocks(const std::byte* begin, std::size_t size, std::size_t at_most,
                                     FunctionRef<void(const void*)> visit);
}  // namespace detail

template <std::derived_from<AllocationGroup> T>
struct ScopeTraits<T> {
  static std::size_t block_count(const T& group) noexcept { return group.block_count(); }
  static void for_each_address(const T& group, std::size_t at_most, auto&& visit) {
    group.for_each_block(at_most, visit);
  }
  static std::shared_ptr<void> cover(const T& group) { return group.cover(); }
  static bool is_plain(const T& group) noexcept {
    const auto* const resource = dynamic_cast<const std::pmr::memory_resource*>(&group);
    return resource != nullptr && !detail::has_windows(resource);
  }
};

}  // namespace tier
