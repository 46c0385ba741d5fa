// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Copies containers to a given memory resource.
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

/// True if a `T` is made with such an allocator: a container over it, or a pair in which one is.
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
/// The types that a `T` visibly contains or owns.
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

/// True if a `T` may draw from a memory resource, as far as its type tells.
/// \param Above  the types that contain `T`, since a type may own objects of its own type
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

/// True if a `T` made with a `std::pmr` allocator passes it on to all its parts that draw from memory resources.
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

/// Returns a copy in `resource`. A container of `std::pmr` is copied with what its elements own in such containers, as far
/// as they pass an allocator on, which pairs, tuples and containers do. A container over `tier::Allocator` may have only
/// elements that own nothing in a resource. A plain copy of a `std::pmr` container would lie in the default resource.
/// \code{.cpp}
/// tier::MigratingResource memory{runtime};
/// const std::pmr::vector<std::pmr::string> names{"one", "another one, too long for the string itself"};
/// const auto copy = tier::copy_in(memory, names);
/// assert(copy == names && copy.get_allocator().resource() == &memory);
/// assert(copy[1].get_allocator().resource() == &memory);
/// \endcode
///
/// Parts that do not pass an allocator on would be copied to the default resource: an optional, a variant, an array or a
/// container of another allocator with elements that draw from a resource does not compile. The members of the program's
/// own types are invisible here: a type with a `std::pmr` member must take an allocator itself (have an `allocator_type`,
/// and a constructor that takes one after what it copies), or that member goes to the default resource. Parts that draw
/// from no resource, such as `std::string`, stay with `new`.
/// \throws  what the resource throws, and the elements' copying; nothing is left in the resource then
template <class Container>
[[nodiscard]] Container copy_in(std::pmr::memory_resource& resource, const Container& container) {
  if constexpr (detail::takes_allocator<Container, detail::PmrAllocator>) {
    static_assert(
        detail::passes_allocator_on<Container>(),
        "libtier: copy_in cannot copy all parts of this container to the resource: an optional, a variant, "
        "an array, or a container with another allocator does not pass the resource on to its elements");
    return std::make_obj_using_allocator<Container>(detail::PmrAllocator{&resource}, container);
  } else {
    static_assert(detail::takes_allocator<Container, detail::OurAllocator>,
                  "libtier: copy_in takes a container of std::pmr, or one with tier::Allocator: no other "
                  "draws from a resource");
    static_assert(!detail::draws_from_resource<std::remove_cv_t<typename Container::value_type>>(),
                  "libtier: copy_in cannot copy what the elements own to the resource: tier::Allocator does "
                  "not pass itself on to elements; use a container of std::pmr");
    return std::make_obj_using_allocator<Container>(detail::OurAllocator{&resource}, container);
  }
}

}  // namespace tier
