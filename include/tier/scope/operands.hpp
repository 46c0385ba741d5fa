// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The operands of a scope by role: `reads(x, w)`, `updates(y)`, `overwrites(z)`.
#include <tier/scope/operand_buffer.hpp>
#include <tier/scope/refusals.hpp>
#include <tier/scope/traits.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace tier {

namespace detail {

/// Keeps groups covered while a scope is open: blocks that come to them later are pinned, too.
using Covers = std::vector<std::shared_ptr<void>>;

/// The id by which a scope finds the operand of an object: also memory that no runtime manages has one.
template <class T>
[[nodiscard]] ObjectId id_of(const T& object) noexcept {
  const ObjectRef managed = ScopeTraits<T>::object(object);
  return managed.object != nullptr ? managed.id() : ScopeTraits<T>::operand(object, Use::Read).object;
}

}  // namespace detail

// The three kinds of lists of operands. Each appends itself to a scope: named objects first, by which structured bindings find
// their views, then the elements of the other lists.

/// What `reads(x, w)` and the like return: named objects in one role. Keeps references to them: pass it to a scope at
/// once.
template <Use role_, class... Ts>
struct OperandGroup {
  static constexpr Use role = role_;
  template <class T>
  using Qualified = std::conditional_t<role == Use::Read, const T, T>;

  std::tuple<Qualified<Ts>*...> named;

  [[nodiscard]] static constexpr std::size_t size() noexcept { return sizeof...(Ts); }
  void add_named(detail::OperandBuffer& operands) const {
    for_each([&]<class T>(T& object) {
      operands.add([&] { return ScopeTraits<std::remove_const_t<T>>::operand(object, role); });
    });
  }
  void add_elements(detail::OperandBuffer&, detail::Covers&) const noexcept {}
  /// Calls `f` with each object; null for memory that no runtime manages.
  void for_each_object(auto&& f) const {
    for_each([&]<class T>(T& object) { f(ScopeTraits<std::remove_const_t<T>>::object(object)); });
  }
  /// Calls `f` with the id of each object.
  void for_each_id(auto&& f) const {
    for_each([&](auto& object) { f(detail::id_of(object)); });
  }
  /// Hashes the shapes of objects that have shapes.
  [[nodiscard]] std::uint64_t shape_hash() const noexcept {
    std::uint64_t hash = 0;
    for_each([&]<class T>(T& object) {
      using Traits = ScopeTraits<std::remove_const_t<T>>;
      if constexpr (requires { Traits::shape_hash(object); }) hash = hash * 31 + Traits::shape_hash(object);
    });
    return hash;
  }

 private:
  void for_each(auto&& f) const {
    std::apply([&](auto*... object) { (f(*object), ...); }, named);
  }
};
template <class... Ts>
using Reads = OperandGroup<Use::Read, Ts...>;
template <class... Ts>
using Updates = OperandGroup<Use::Update, Ts...>;
template <class... Ts>
using Overwrites = OperandGroup<Use::Overwrite, Ts...>;

/// Objects in one role whose number is known at run time only: views by look-up, no structured bindings.
/// \tparam Element  `ObjectRef`, or a pointer to something scoped
template <Use role_, class Element>
struct OperandSet {
  static constexpr Use role = role_;
  std::tuple<> named;
  std::span<const Element> elements;

  [[nodiscard]] std::size_t size() const noexcept { return elements.size(); }
  void add_named(detail::OperandBuffer&) const noexcept {}
  void add_elements(detail::OperandBuffer& operands, detail::Covers&) const {
    for (const auto& element : elements) {
      if constexpr (is_reference) {
        if (element.object == nullptr) continue;
        operands.add([&] {
          return element.object->window != nullptr ? Operand::of_window(element, role)
                                                   : Operand::of(element, role);
        });
      } else {
        operands.add([&] { return ScopeTraits<Pointee>::operand(*element, role); });
      }
    }
  }
  void for_each_object(auto&& f) const {
    for (const auto& element : elements) {
      if constexpr (is_reference)
        f(element);
      else
        f(ScopeTraits<Pointee>::object(*element));
    }
  }
  void for_each_id(auto&& f) const {
    for (const auto& element : elements) {
      if constexpr (!is_reference)
        f(detail::id_of(*element));
      else if (element.object != nullptr)
        f(element.id());
    }
  }
  /// Sets have no shapes: only the sizes of their elements count.
  [[nodiscard]] static std::uint64_t shape_hash() noexcept { return 0; }

 private:
  static constexpr bool is_reference = std::same_as<Element, ObjectRef>;
  using Pointee = std::remove_const_t<std::remove_pointer_t<Element>>;
};

/// A container, group or part in windows, in one role. A scope treats it as advice.
template <Use role_, class T>
struct OperandsOf {
  static constexpr Use role = role_;
  std::tuple<> named;
  const T* of;
  std::size_t count;  ///< of blocks, at most

  [[nodiscard]] std::size_t size() const noexcept { return count; }
  void add_named(detail::OperandBuffer&) const noexcept {}
  void add_elements(detail::OperandBuffer& operands, detail::Covers& covers) const {
    std::span<const std::byte> bytes;
    if constexpr (PartReference<T>) bytes = Traits::bytes(*of);
    if constexpr (requires { Traits::cover(*of); })
      if (auto cover = Traits::cover(*of)) covers.push_back(std::move(cover));
    Traits::for_each_address(*of, count, [&](const void* address) {
      operands.add([&] { return Operand::advice_at(address, role, bytes); });
    });
  }
  /// There are none: it is in windows only.
  void for_each_object(auto&&) const noexcept {}
  void for_each_id(auto&& f) const {
    if constexpr (PartReference<T>) f(Traits::object(*of).id());
  }
  [[nodiscard]] static std::uint64_t shape_hash() noexcept { return 0; }

 private:
  using Traits = ScopeTraits<std::remove_const_t<T>>;
};

namespace detail {

template <class>
inline constexpr bool is_operand_group = false;
template <Use role, class T>
inline constexpr bool is_operand_group<OperandsOf<role, T>> = true;
template <Use role, class... Ts>
inline constexpr bool is_operand_group<OperandGroup<role, Ts...>> = true;
template <Use role, class Element>
inline constexpr bool is_operand_group<OperandSet<role, Element>> = true;

/// The elements of a range of `ObjectRef` or of pointers to objects. Pointers to const are not for writing.
template <class R>
using ElementOf = std::ranges::range_value_t<R>;
template <class R>
concept ReadSet = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    (std::same_as<ElementOf<R>, ObjectRef> ||
     (std::is_pointer_v<ElementOf<R>> && Scoped<std::remove_const_t<std::remove_pointer_t<ElementOf<R>>>>));
template <class R>
concept WriteSet = ReadSet<R> && !std::is_const_v<std::remove_pointer_t<ElementOf<R>>>;

template <Use role, class R>
[[nodiscard]] OperandSet<role, ElementOf<R>> set_of(const R& objects) noexcept {
  return {{}, {std::ranges::data(objects), std::ranges::size(objects)}};
}

template <Use role, class T>
[[nodiscard]] OperandsOf<role, T> all_of(const T& object) noexcept {
  return {{}, &object, ScopeTraits<T>::block_count(object)};
}

}  // namespace detail

template <class T>
concept OperandList = detail::is_operand_group<std::remove_cvref_t<T>>;
template <class T>
concept ReadList = OperandList<T> && std::remove_cvref_t<T>::role == Use::Read;
template <class T>
concept WriteList = OperandList<T> && !ReadList<T>;

namespace detail {
/// The arguments of `reads`, `updates` and `overwrites`: named objects, or one operand in windows, or one set of objects.
template <class T, Use role>
concept NamedOperand = ReadOperand<T> &&(role == Use::Read || WriteOperand<T>);
template <class T, Use role>
concept LoneOperand = (WindowOperand<T, role> &&
                       (role != Use::Overwrite || PartReference<std::remove_cvref_t<T>>)) ||
                      (role == Use::Read ? ReadSet<std::remove_cvref_t<T>>
                                         : WriteSet<std::remove_cvref_t<T>>);
template <Use role, class... Ts>
concept OperandsFor = (NamedOperand<Ts, role> && ...) ||
                      (sizeof...(Ts) == 1 && (LoneOperand<Ts, role> && ...));

/// Makes the compiler print a sentence for invalid operands, and returns an empty group.
template <Use role, class... Ts>
[[nodiscard]] constexpr OperandGroup<role> refused() noexcept {
  (refuse_unless<NamedOperand<Ts, role>, role, Ts>(), ...);
  return {};
}
}  // namespace detail

namespace detail {

/// Counts the blocks beyond the first of objects whose windows are cut into blocks. They are entered as advice.
[[nodiscard]] inline std::size_t further_blocks(ObjectRef ref) noexcept {
  return ref.object != nullptr && ref.object->cut ? ref.object->blocks.size() - 1 : 0;
}
[[nodiscard]] std::size_t further_blocks(const OperandList auto& list) noexcept {
  std::size_t count = 0;
  list.for_each_object([&](ObjectRef ref) { count += further_blocks(ref); });
  return count;
}
/// Appends those blocks.
template <OperandList List>
void add_further(const List& list, OperandBuffer& operands) {
  list.for_each_object([&](ObjectRef ref) {
    if (further_blocks(ref) == 0) return;
    const Object& object = *ref.object;
    const std::span<const std::byte> bytes{object.window + object.block->size, object.window + object.size};
    for_each_block(bytes.data(), bytes.data() + bytes.size(), std::size_t(-1), [&](const void* address) {
      operands.add([&] { return Operand::advice_at(address, List::role, bytes); });
    });
  });
}

}  // namespace detail

/// Lists objects to read: they are fetched, and their views are const.
template <ReadOperand... Ts>
[[nodiscard]] Reads<std::remove_cvref_t<Ts>...> reads(Ts&&... objects) noexcept {
  return {{&objects...}};
}
template <detail::ReadSet R>
[[nodiscard]] auto reads(const R& objects) noexcept {
  return detail::set_of<Use::Read>(objects);
}

template <WindowOperand<Use::Read> T>
[[nodiscard]] auto reads(T&& object) noexcept {
  return detail::all_of<Use::Read>(object);
}

template <class... Ts>
requires(!detail::OperandsFor<Use::Read, Ts...>)
    [[nodiscard]] OperandGroup<Use::Read> reads(Ts&&...) noexcept {
  return detail::refused<Use::Read, Ts...>();
}

/// Lists objects to update: they are fetched, read and written.
template <WriteOperand... Ts>
[[nodiscard]] Updates<std::remove_cvref_t<Ts>...> updates(Ts&&... objects) noexcept {
  return {{&objects...}};
}
template <detail::WriteSet R>
[[nodiscard]] auto updates(const R& objects) noexcept {
  return detail::set_of<Use::Update>(objects);
}

template <WindowOperand<Use::Update> T>
[[nodiscard]] auto updates(T&& object) noexcept {
  return detail::all_of<Use::Update>(object);
}

template <class... Ts>
requires(!detail::OperandsFor<Use::Update, Ts...>)
    [[nodiscard]] OperandGroup<Use::Update> updates(Ts&&...) noexcept {
  return detail::refused<Use::Update, Ts...>();
}

/// Lists objects to overwrite: they are not fetched. The old contents are gone, also if the scope ends by an exception.
/// Checked builds fill them with a NaN pattern.
template <WriteOperand... Ts>
[[nodiscard]] Overwrites<std::remove_cvref_t<Ts>...> overwrites(Ts&&... objects) noexcept {
  return {{&objects...}};
}
template <detail::WriteSet R>
[[nodiscard]] auto overwrites(const R& objects) noexcept {
  return detail::set_of<Use::Overwrite>(objects);
}

/// Overwrites the blocks that lie wholly in a part; the other blocks of the part are updated.
template <WindowOperand<Use::Overwrite> T>
requires PartReference<std::remove_cvref_t<T>>
[[nodiscard]] auto overwrites(T&& part) noexcept { return detail::all_of<Use::Overwrite>(part); }

template <class... Ts>
requires(!detail::OperandsFor<Use::Overwrite, Ts...>)
    [[nodiscard]] OperandGroup<Use::Overwrite> overwrites(Ts&&...) noexcept {
  return detail::refused<Use::Overwrite, Ts...>();
}

}  // namespace tier
