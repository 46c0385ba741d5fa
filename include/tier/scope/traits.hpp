// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The traits by which a type takes part in scopes.
#include <tier/manager/manager.hpp>

#include <concepts>
#include <type_traits>

namespace tier {

/// Makes scopes and hints accept a type: specialised by each that they accept (tensor/ does); for a `T`:
/// ```
/// static ObjectRef object(const T&) noexcept;           null for memory that no runtime manages
/// static Operand operand(const T&, Use);                what it throws, the scope's constructor throws
/// static ReadView view(const T&, const Operand&);       valid while the operand is entered
/// static WriteView view(T&, const Operand&);
/// static std::uint64_t shape_hash(const T&) noexcept;   optional: lets policies distinguish kernels by shape
/// ```
template <class T>
struct ScopeTraits;

/// An object that a scope may be opened on.
template <class T>
concept Scoped = requires(const T& object, Use use) {
  { ScopeTraits<T>::object(object) } -> std::same_as<ObjectRef>;
  { ScopeTraits<T>::operand(object, use) } -> std::same_as<Operand>;
};

/// A container, group or part in windows that a scope may be opened on, with any number of blocks. For a `T`:
/// ```
/// static std::size_t block_count(const T&) noexcept;      an upper bound; there may be fewer by the time of:
/// static void for_each_address(const T&, std::size_t at_most, auto&& f);   one in each block, which stays allocated
/// static std::shared_ptr<void> cover(const T&);   optional, may be null: until it ends, new blocks are pinned, too
/// static bool is_plain(const T&) noexcept;   optional: it has bytes, and none of them can ever be in a window
/// ```
/// A type that refers to a part of a named object may be a temporary, and has views of its own: `static constexpr bool
/// is_reference = true`, `is_writable`, `object(const T&)` as above, `bytes(const T&)` and `view(const T&)`.
template <class T>
concept ScopedInWindows = requires(const T& object) {
  { ScopeTraits<T>::block_count(object) } -> std::same_as<std::size_t>;
};

/// A named object, as scopes require it: `T` is deduced from a forwarding reference.
template <class T>
concept ReadOperand = std::is_lvalue_reference_v<T> && Scoped<std::remove_cvref_t<T>>;
/// A named object that is not const.
template <class T>
concept WriteOperand = ReadOperand<T> && !std::is_const_v<std::remove_reference_t<T>>;
/// A type that refers to a part of a named object.
template <class T>
concept PartReference = ScopedInWindows<T> && requires {
  requires ScopeTraits<T>::is_reference;
};
/// A named container or group in windows, or a reference to a part of an object. For writing, it must not be const.
template <class T, Use use>
concept WindowOperand = ScopedInWindows<std::remove_cvref_t<T>> &&
    ((PartReference<std::remove_cvref_t<T>> &&
      (use == Use::Read || requires { requires ScopeTraits<std::remove_cvref_t<T>>::is_writable; })) ||
     (!PartReference<std::remove_cvref_t<T>> && std::is_lvalue_reference_v<T> &&
      (use == Use::Read || !std::is_const_v<std::remove_reference_t<T>>)));

namespace detail {
/// Returns the read view for a const object, the write view for any other.
template <class T>
[[nodiscard]] auto view_of(T& object, const Operand& operand) noexcept {
  return ScopeTraits<std::remove_const_t<T>>::view(object, operand);
}
template <class T>
using ViewOf = decltype(view_of(std::declval<T&>(), std::declval<const Operand&>()));
}  // namespace detail

}  // namespace tier
