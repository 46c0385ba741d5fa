// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Copies of containers in a resource of choice.
#include <tier/pmr/allocator.hpp>

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <utility>

namespace tier {

namespace detail {
/// Whether a `T` is made with such an allocator: a container over it, or a pair of which one is.
template <class T, class Allocator>
inline constexpr bool takes_allocator = std::uses_allocator_v<T, Allocator>;
template <class A, class B, class Allocator>
inline constexpr bool takes_allocator<std::pair<A, B>, Allocator> =
    takes_allocator<A, Allocator> || takes_allocator<B, Allocator>;
}  // namespace detail

/// A copy of which every part lies in `resource`: of a container of `std::pmr` with all that its elements own in such
/// containers, or of one over `tier::Allocator` whose elements own nothing. A plain copy of the former would lie in the
/// default resource.
/// \throws  what the resource throws, and the elements' copying; nothing is left in the resource then
template <class Container>
[[nodiscard]] Container copy_in(std::pmr::memory_resource& resource, const Container& container) {
  using Pmr = std::pmr::polymorphic_allocator<>;
  using Ours = Allocator<std::byte>;
  if constexpr (detail::takes_allocator<Container, Pmr>) {
    return std::make_obj_using_allocator<Container>(Pmr{&resource}, container);
  } else {
    static_assert(detail::takes_allocator<Container, Ours>, "such an object draws from no memory resource");
    static_assert(!detail::takes_allocator<typename Container::value_type, Ours>,
                  "what the elements own would stay where it is: Allocator does not pass itself on");
    return std::make_obj_using_allocator<Container>(Ours{&resource}, container);
  }
}

}  // namespace tier
