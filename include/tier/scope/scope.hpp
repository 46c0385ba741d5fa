// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Scopes around hot loops: `ReadScope`, `WriteScope`, `KernelScope`.
#include <tier/scope/archive_scope.hpp>
#include <tier/scope/chain.hpp>
#include <tier/scope/hints.hpp>
#include <tier/scope/open_scope.hpp>
#include <tier/scope/operands.hpp>

#include <concepts>
#include <tuple>

namespace tier {

namespace detail {

template <class T, Use role>
concept ListFor = OperandList<T> &&(std::remove_cvref_t<T>::role == Use::Read) == (role == Use::Read);

/// Converts an argument of a Read- or WriteScope to a list of operands: a list stays, an object becomes a list of one. `T`
/// is as a forwarding reference deduces it. Other arguments are refused with a message when the scope is made.
template <Use role, class T>
struct ArgumentList {
  using Type = OperandGroup<role>;
  [[nodiscard]] static Type of(const auto&) noexcept { return refused<role, T>(); }
};
template <Use role, ListFor<role> T>
struct ArgumentList<role, T> {
  using Type = std::remove_cvref_t<T>;
  [[nodiscard]] static Type of(const Type& list) noexcept { return list; }
};
template <Use role, NamedOperand<role> T>
struct ArgumentList<role, T> {
  using Type = OperandGroup<role, std::remove_cvref_t<T>>;
  [[nodiscard]] static Type of(T object) noexcept { return {{&object}}; }
};
template <Use role, WindowOperand<role> T>
struct ArgumentList<role, T> {
  using Type = OperandsOf<role, std::remove_cvref_t<T>>;
  [[nodiscard]] static Type of(const std::remove_reference_t<T>& object) noexcept {
    return all_of<role>(object);
  }
};
template <Use role, class T>
using ListOf = typename ArgumentList<role, T>::Type;
template <class T>
concept NoScope = !std::derived_from<std::remove_cvref_t<T>, Scope>;

/// Remembers the named objects, for structured bindings.
template <class... Lists>
class TypedScope : public Scope {
  using Named = decltype(std::tuple_cat(std::declval<Lists>().named...));

 public:
  static constexpr std::size_t named_count = std::tuple_size_v<Named>;
  template <std::size_t i>
  using View = ViewOf<std::remove_pointer_t<std::tuple_element_t<i, Named>>>;

  /// Returns the view of the i-th named operand.   \pre  The object is where it was when the scope was opened.
  template <std::size_t i>
  [[nodiscard]] View<i> get() const noexcept {
    return view_of(*std::get<i>(named_), this->operand_of(*std::get<i>(named_)));
  }

 protected:
  explicit TypedScope(std::string_view kernel, const Lists&... lists)
      : Scope{kernel, lists...}, named_{std::tuple_cat(lists.named...)} {}

 private:
  Named named_;
};

}  // namespace detail

/// Lets a program read objects: fetches them, and pins them until it ends. It gives views of tensors and of their rows; a
/// container is used as it is while the scope is open.
/// \code{.cpp}
/// tier::Tensor<float> x{runtime, {64}}, w{runtime, {64}};
/// std::ranges::fill(tier::WriteScope{tier::overwrites(x)}[x].elements(), 2.0F);
/// std::ranges::fill(tier::WriteScope{tier::overwrites(w)}[w].elements(), 0.5F);
/// tier::ReadScope in{x, w};
/// auto& [xs, ws] = in;  // the same as in[x] and in[w]
/// assert(std::inner_product(xs.data(), xs.data() + xs.count(), ws.data(), 0.0F) == 64.0F);
/// \endcode
template <ReadList... Lists>
class [[nodiscard]] ReadScope : public detail::TypedScope<Lists...> {
 public:
  /// \param operands  named objects, or `reads(…)`
  /// \throws          `OutOfTierMemory`, `TierError`; nothing is pinned then
  template <class... Args>
  requires std::same_as<ReadScope, ReadScope<detail::ListOf<Use::Read, Args>...>>
  explicit ReadScope(Args&&... operands)
      : detail::TypedScope<Lists...>{{}, detail::ArgumentList<Use::Read, Args>::of(operands)...} {}

  template <class T>
  requires Scoped<T> || PartReference<T>
  [[nodiscard]] auto operator[](const T& object) const noexcept { return this->in(object, {}); }
};
template <detail::NoScope First, class... Rest>
ReadScope(First&&, Rest&&...)
    -> ReadScope<detail::ListOf<Use::Read, First>, detail::ListOf<Use::Read, Rest>...>;

/// Lets a program read and write objects: fetches them, and pins them until it ends. `overwrites(y)` does not fetch: the
/// old contents are gone.
/// \code{.cpp}
/// tier::Tensor<float> y{runtime, {64}};
/// std::ranges::fill(tier::WriteScope{tier::overwrites(y)}[y].elements(), 1.0F);
/// const tier::WriteScope out{y};
/// for (float& element : out[y].elements()) element *= 2;
/// assert(out[y](63) == 2.0F);
/// \endcode
template <WriteList... Lists>
class [[nodiscard]] WriteScope : public detail::TypedScope<Lists...> {
 public:
  /// \param operands  named objects, which are updated, `updates(…)` or `overwrites(…)`
  /// \throws          `OutOfTierMemory`, `TierError`; nothing is pinned then
  template <class... Args>
  requires std::same_as<WriteScope, WriteScope<detail::ListOf<Use::Update, Args>...>>
  explicit WriteScope(Args&&... operands)
      : detail::TypedScope<Lists...>{{}, detail::ArgumentList<Use::Update, Args>::of(operands)...} {}

  template <Scoped T>
  [[nodiscard]] auto operator[](T& object) const noexcept {
    return this->out(object, {});
  }
  template <PartReference T>
  [[nodiscard]] auto operator[](const T& part) const noexcept {
    return this->out(part, {});
  }
};
template <detail::NoScope First, class... Rest>
WriteScope(First&&, Rest&&...)
    -> WriteScope<detail::ListOf<Use::Update, First>, detail::ListOf<Use::Update, Rest>...>;

/// Lets a program take one step of computation, a kernel, with a name and with objects in several roles. Policies and
/// recordings are told of kernels: they know by the name and the shapes when the same one comes again.
/// \code{.cpp}
/// tier::Tensor<float> x{runtime, {64}}, y{runtime, {64}};
/// std::ranges::fill(tier::WriteScope{tier::overwrites(x)}[x].elements(), 1.0F);
/// const tier::KernelScope step{"negate", tier::reads(x), tier::overwrites(y)};
/// std::ranges::transform(step.in(x).elements(), step.out(y).elements().begin(), std::negate<>{});
/// \endcode
template <OperandList... Lists>
class [[nodiscard]] KernelScope : public detail::TypedScope<Lists...> {
 public:
  /// \param name  need not outlive the call
  /// \throws      `OutOfTierMemory`, `TierError`; nothing is pinned then
  explicit KernelScope(std::string_view name, const Lists&... operands)
      : detail::TypedScope<Lists...>{name, operands...} {}
};

}  // namespace tier

template <class... Lists>
struct std::tuple_size<tier::ReadScope<Lists...>>
    : std::integral_constant<std::size_t, tier::ReadScope<Lists...>::named_count> {};
template <std::size_t i, class... Lists>
struct std::tuple_element<i, tier::ReadScope<Lists...>> {
  using type = typename tier::ReadScope<Lists...>::template View<i>;
};
template <class... Lists>
struct std::tuple_size<tier::WriteScope<Lists...>>
    : std::integral_constant<std::size_t, tier::WriteScope<Lists...>::named_count> {};
template <std::size_t i, class... Lists>
struct std::tuple_element<i, tier::WriteScope<Lists...>> {
  using type = typename tier::WriteScope<Lists...>::template View<i>;
};
template <class... Lists>
struct std::tuple_size<tier::KernelScope<Lists...>>
    : std::integral_constant<std::size_t, tier::KernelScope<Lists...>::named_count> {};
template <std::size_t i, class... Lists>
struct std::tuple_element<i, tier::KernelScope<Lists...>> {
  using type = typename tier::KernelScope<Lists...>::template View<i>;
};
