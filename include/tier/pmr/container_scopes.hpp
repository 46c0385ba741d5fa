// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Scopes and hints on the standard's containers over resources of ours.
#include <tier/pmr/allocation_group.hpp>

#include <concepts>
#include <memory>
#include <memory_resource>
#include <ranges>
#include <span>

namespace tier {

/// A container that says which memory resource it draws from.
template <class T>
concept PmrContainer = std::ranges::range<const T> && requires(const T& container) {
  { container.get_allocator().resource() } -> std::convertible_to<std::pmr::memory_resource*>;
};

/// A contiguous container is covered element by element, but for what its elements own; any other, and each in an
/// `ArenaResource`, by the group of its resource: all that was allocated through the same one.
/// \pre  Nobody changes the container meanwhile.
template <PmrContainer T>
struct ScopeTraits<T> {
  static std::size_t block_count(const T& container) noexcept {
    std::size_t count = 0;
    for_each_address(container, std::size_t(-1), [&](const void*) { ++count; });
    return count;
  }
  static void for_each_address(const T& container, std::size_t at_most, auto&& visit) {
    const auto* const group = detail::group_of(container.get_allocator().resource());
    if (covers_group(group)) return group->for_each_block(at_most, visit);
    if constexpr (std::ranges::contiguous_range<const T>) {
      const auto bytes = std::as_bytes(std::span{std::ranges::data(container), std::ranges::size(container)});
      detail::visit_blocks(bytes.data(), bytes.size(), at_most, visit);
    }
  }
  static std::shared_ptr<void> cover(const T& container) {
    const auto* const group = detail::group_of(container.get_allocator().resource());
    return covers_group(group) ? group->cover() : nullptr;
  }

 private:
  static bool covers_group(const AllocationGroup* group) noexcept {
    return group != nullptr && (!std::ranges::contiguous_range<const T> || group->is_one_unit());
  }
};

}  // namespace tier
