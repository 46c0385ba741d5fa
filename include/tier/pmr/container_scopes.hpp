// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Scopes and hints on standard containers over resources of this library.
#include <tier/pmr/allocation_group.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <ranges>
#include <span>

namespace tier {

/// A container with an allocator over a memory resource.
template <class T>
concept PmrContainer = std::ranges::range<const T> && requires(const T& container) {
  { container.get_allocator().resource() } -> std::convertible_to<std::pmr::memory_resource*>;
};

namespace detail {
/// A contiguous container, including Boost's vectors, whose iterators do not say that they are contiguous.
template <class T>
concept Contiguous = std::ranges::contiguous_range<const T> ||
    (std::ranges::random_access_range<const T>&& requires(const T& container) {
      { container.data() } -> std::convertible_to<const std::ranges::range_value_t<const T>*>;
      { container.size() } -> std::convertible_to<std::size_t>;
    });
}  // namespace detail

/// A contiguous container is covered element by element, without what its elements own. Any other, and each container in an
/// `ArenaResource`, is covered by the group of its resource: all memory that was allocated through that resource.
/// \pre  No thread changes the container meanwhile.
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
    if constexpr (detail::Contiguous<T>) {
      const auto bytes = std::as_bytes(std::span{container.data(), container.size()});
      detail::visit_blocks(bytes.data(), bytes.size(), at_most, visit);
    }
  }
  static std::shared_ptr<void> cover(const T& container) {
    const auto* const group = detail::group_of(container.get_allocator().resource());
    return covers_group(group) ? group->cover() : nullptr;
  }
  static bool is_plain(const T& container) noexcept {
    return !std::ranges::empty(container) && !detail::has_windows(container.get_allocator().resource());
  }

 private:
  static bool covers_group(const AllocationGroup* group) noexcept {
    return group != nullptr && (!detail::Contiguous<T> || group->is_one_unit());
  }
};

}  // namespace tier
