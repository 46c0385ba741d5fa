// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Memory resources for containers that are not of `std::pmr`.
#include <tier/core/export.hpp>
#include <tier/core/standard.hpp>

#include <cstddef>
#include <limits>
#include <memory>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>

namespace tier {

namespace detail {
[[noreturn]] TIER_EXPORT void refuse_without_resource();
}

/// Brings a memory resource to containers that take an allocator and are not of `std::pmr`. Unlike
/// `std::pmr::polymorphic_allocator` it moves with its container, never falls back to the default resource, and does not
/// pass itself on to what the elements own.
/// \code{.cpp}
/// tier::MigratingResource memory{runtime};
/// std::vector<float, tier::Allocator<float>> samples(1000, &memory);
/// const auto moved = std::move(samples);  // takes its memory along
/// assert(moved.get_allocator().resource() == &memory);
/// \endcode
///
/// An allocator made without a resource, as in a container made without an allocator, cannot allocate. Such a container
/// is one to move into, or to assign to.
/// \pre           The resource outlives all containers over it.
/// \threadsafety  As the resource.
template <class T>
class Allocator {
 public:
  using value_type = T;

  /// Copies stay in the destination's resource: assigning to a container does not carry it to another tier.
  using propagate_on_container_copy_assignment = std::false_type;
  /// A moved container takes its memory along. The alternative copies each element across resources.
  using propagate_on_container_move_assignment = std::true_type;
  /// Swapped containers exchange their memory, too: with unequal resources the alternative is undefined.
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::false_type;

  Allocator() noexcept = default;
  Allocator(std::pmr::memory_resource* resource) noexcept  // NOLINT: implicit, as the standard's
      : resource_{resource} {}
  template <class U>
  Allocator(const Allocator<U>& other) noexcept : resource_{other.resource()} {}  // NOLINT: as above

  /// Returns null if the allocator was made without a resource.
  [[nodiscard]] std::pmr::memory_resource* resource() const noexcept { return resource_; }

  /// \throws  `std::bad_array_new_length`, `ConfigError` if there is no resource, and what the resource throws
  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T)) throw std::bad_array_new_length{};
    if (resource_ == nullptr) [[unlikely]]
      detail::refuse_without_resource();
    return static_cast<T*>(resource_->allocate(count * sizeof(T), alignof(T)));
  }
  void deallocate(T* p, std::size_t count) noexcept {
    resource_->deallocate(p, count * sizeof(T), alignof(T));
  }

  template <class U>
  friend bool operator==(const Allocator& a, const Allocator<U>& b) noexcept {
    if (a.resource() == nullptr || b.resource() == nullptr) return a.resource() == b.resource();
    return *a.resource() == *b.resource();
  }

 private:
  std::pmr::memory_resource* resource_ = nullptr;
};

}  // namespace tier
