// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Compile-time messages, of one sentence each, for arguments that a scope or a hint does not accept.
#include <tier/scope/traits.hpp>

#include <cstdint>
#include <ranges>
#include <type_traits>

namespace tier::detail {

/// Why an argument is not an operand.
enum class Refusal : std::uint8_t {
  None,
  Temporary,
  Const,
  HeaderMissing,  ///< a container over a memory resource, without tier/pmr/container_scopes.hpp
  NotOurs,        ///< a type that libtier does not know
  WrongRole,      ///< `updates(…)` for a ReadScope and the like
  Overwritten     ///< a container, which can only be read or updated
};

template <class T>
concept OverResource = requires(const T& container) {
  container.get_allocator().resource();
};
/// The lists that `reads(…)` and the like return.
template <class T>
concept WithRole = requires {
  T::role;
};
/// A set of pointers to const.
template <class T>
concept ConstSet = std::ranges::range<T> && std::is_pointer_v<std::ranges::range_value_t<T>> &&
    std::is_const_v<std::remove_pointer_t<std::ranges::range_value_t<T>>>;
template <class T>
concept TakesPart = Scoped<T> || ScopedInWindows<T>;

/// Returns why `T`, as a forwarding reference deduces it, is not an operand for this use.
template <Use use, class T>
[[nodiscard]] constexpr Refusal refusal_of() noexcept {
  using Object = std::remove_cvref_t<T>;
  if (WithRole<Object>) return Refusal::WrongRole;
  if (ConstSet<Object> && use != Use::Read) return Refusal::Const;
  if (!TakesPart<Object>) return OverResource<Object> ? Refusal::HeaderMissing : Refusal::NotOurs;
  if (!std::is_lvalue_reference_v<T> && !PartReference<Object>) return Refusal::Temporary;
  if (use != Use::Read && (std::is_const_v<std::remove_reference_t<T>> || PartReference<Object>))
    return Refusal::Const;
  return use == Use::Overwrite ? Refusal::Overwritten : Refusal::WrongRole;
}

/// Compiles only for `Refusal::None`.
template <Refusal why, class T>
constexpr void explain() noexcept {
  static_assert(
      why != Refusal::Temporary,
      "libtier: a scope or a hint refers to its operand, which must not be a temporary: give it a name");
  static_assert(
      why != Refusal::Const,
      "libtier: a const object can be read, not written: take a ReadScope or reads(...), or make it "
      "non-const");
  static_assert(why != Refusal::HeaderMissing,
                "libtier: for scopes and hints on containers #include <tier/pmr/container_scopes.hpp>");
  static_assert(why != Refusal::NotOurs,
                "libtier: a scope or a hint needs an object in libtier's memory: a Tensor, rows of one, a "
                "container of std::pmr (or with tier::Allocator) over a resource of libtier's, or such a "
                "resource; std::vector and the like draw from the heap");
  static_assert(
      why != Refusal::WrongRole,
      "libtier: these operands do not fit here: a ReadScope takes objects or reads(...), a WriteScope "
      "objects, "
      "updates(...) or overwrites(...); a container, rows or a resource must be the only argument of each of "
      "these");
  static_assert(
      why != Refusal::Overwritten,
      "libtier: a container or a resource can be read or updated, not overwritten: take updates(...)");
}

template <Use use, class T>
constexpr void refuse() noexcept {
  explain<refusal_of<use, T>(), T>();
}

template <bool fits, Use use, class T>
constexpr void refuse_unless() noexcept {
  if constexpr (!fits) refuse<use, T>();
}

}  // namespace tier::detail
