// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Copies of containers in a resource of choice.
#include <tier/pmr/allocator.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace tier {

namespace detail {
using PmrAllocator = std::pmr::polymorphic_allocator<>;
using OurAllocator = Allocator<std::byte>;

/// Whether a `T` is made with such an allocator: a container over it, or a pair of which one is.
template <class T, class A>
inline constexpr bool takes_allocator = std::uses_allocator_v<T, A>;
template <class First, class Second, class A>
inline constexpr bool takes_allocator<std::pair<First, Second>, A> =
    takes_allocator<First, A> || takes_allocator<Second, A>;

template <class T>
concept OwnsElements = requires {
  typename T::allocator_type;
  typename T::value_type;
};

template <class... Ts>
struct Types {};
/// The types that a `T` visibly has in itself or owns.
template <class T>
struct Parts {
  using type = Types<>;
};
template <OwnsElements T>
struct Parts<T> {
  using type = Types<typename T::value_type>;
};
template <class First, class Second>
struct Parts<std::pair<First, Second>> {
  using type = Types<First, Second>;
};
template <class... Ts>
struct Parts<std::tuple<Ts...>> {
  using type = Types<Ts...>;
};
template <class T>
struct Parts<std::optional<T>> {
  using type = Types<T>;
};
template <class... Ts>
struct Parts<std::variant<Ts...>> {
  using type = Types<Ts...>;
};
template <class T, std::size_t n>
struct Parts<std::array<T, n>> {
  using type = Types<T>;
};
template <class T, std::size_t n>
struct Parts<T[n]> {
  using type = Types<T>;
};

template <class T>
inline constexpr bool is_pair_or_tuple = false;
template <class First, class Second>
inline constexpr bool is_pair_or_tuple<std::pair<First, Second>> = true;
template <class... Ts>
inline constexpr bool is_pair_or_tuple<std::tuple<Ts...>> = true;

/// Whether a `T` may draw from a memory resource, as far as its type tells.
/// \param Above  what it is a part of: a type may own others of its own
template <class T, class... Above>
constexpr bool draws_from_resource() {
  if constexpr ((std::same_as<T, Above> || ...))
    return false;
  else if constexpr (!is_pair_or_tuple<T> &&
                     (takes_allocator<T, PmrAllocator> || takes_allocator<T, OurAllocator>))
    return true;
  else
    return []<class... Ps>(Types<Ps...>) {
      return (draws_from_resource<std::remove_cv_t<Ps>, T, Above...>() || ...);
    }(typename Parts<T>::type{});
}

/// Whether a `T` that is made with a `std::pmr` allocator passes it on to all that draws from memory resources.
template <class T, class... Above>
constexpr bool passes_allocator_on() {
  if constexpr ((std::same_as<T, Above> || ...))
    return true;
  else if constexpr (is_pair_or_tuple<T> || takes_allocator<T, PmrAllocator>)
    return []<class... Ps>(Types<Ps...>) {
      return (passes_allocator_on<std::remove_cv_t<Ps>, T, Above...>() && ...);
    }(typename Parts<T>::type{});
  else
    return !draws_from_resource<T>();
}
}  // namespace detail

/// A copy in `resource`: of a container of `std::pmr` with what its elements own in such containers, as far as they pass an
/// allocator on, which pairs, tuples and containers do; or of one over `tier::Allocator` whose elements own nothing in a
/// resource. A plain copy of the former would lie in the default resource.
///
/// What passes no allocator on would be copied to the default resource: an optional, a variant, an array or a container of
/// another allocator with elements that draw from a resource does not compile. A type of the program's own cannot be seen
/// through: one with a member of `std::pmr` must itself take an allocator (have an `allocator_type`, and a constructor that
/// takes one after what it copies), or that member goes to the default resource. What draws from no resource, such as
/// `std::string`, stays with `new`.
/// \throws  what the resource throws, and the elements' copying; nothing is left in the resource then
template <class Container>
[[nodiscard]] Container copy_in(std::pmr::memory_resource& resource, const Container& container) {
  if constexpr (detail::takes_allocator<Container, detail::PmrAllocator>) {
    static_assert(detail::passes_allocator_on<Container>(),
                  "the copy of a part would not lie in the resource: an optional, a variant, an array or a "
                  "container of "
                  "another allocator does not pass the resource on to what is in it");
    return std::make_obj_using_allocator<Container>(detail::PmrAllocator{&resource}, container);
  } else {
    static_assert(detail::takes_allocator<Container, detail::OurAllocator>,
                  "such an object draws from no memory resource");
    static_assert(!detail::draws_from_resource<std::remove_cv_t<typename Container::value_type>>(),
                  "what the elements own would not lie in the resource: Allocator does not pass itself on");
    return std::make_obj_using_allocator<Container>(detail::OurAllocator{&resource}, container);
  }
}

}  // namespace tier
