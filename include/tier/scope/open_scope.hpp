// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What all pinning scopes are: an entered batch of operands at its place in a chain.
#include <tier/core/config.hpp>
#include <tier/core/export.hpp>
#include <tier/scope/chain.hpp>
#include <tier/scope/misuse.hpp>
#include <tier/scope/operand_buffer.hpp>
#include <tier/scope/operands.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace tier {

namespace detail {
/// Checked builds: aborts, naming the object, if an operand conflicts with one open in another chain.
TIER_EXPORT void note_accesses(Chain chain, std::span<const Operand> batch) noexcept;
TIER_EXPORT void forget_accesses(Chain chain, std::span<const Operand> batch) noexcept;
/// Checked builds: makes what an `overwrites` operand held unusable.
TIER_EXPORT void spoil(const Operand& operand) noexcept;
}  // namespace detail

/// An open scope of any kind; Read-, Write- and KernelScopes may be moved into one. Its operands stay where they are
/// until it ends, on whichever thread.
/// \pre           All operands that a runtime manages belong to the same one.
/// \threadsafety  Look-ups may run side by side; open, move and end it on one thread at a time.
class [[nodiscard]] TIER_EXPORT Scope {
 public:
  Scope(Scope&& other) noexcept
      : nesting_{std::move(other.nesting_)},
        operands_{std::move(other.operands_)},
        covers_{std::move(other.covers_)},
        told_{other.told_} {
    if (told_) who_ = other.who_;
  }
  Scope& operator=(Scope&& other) noexcept {
    if (this == &other) return *this;
    end();
    nesting_ = std::move(other.nesting_);
    operands_ = std::move(other.operands_);
    covers_ = std::move(other.covers_);
    told_ = other.told_;
    if (told_) who_ = other.who_;
    return *this;
  }
  ~Scope() { end(); }

  /// For a `ChainGuard` on another thread that works for this scope.
  [[nodiscard]] Chain chain() const noexcept { return nesting_.chain(); }

  /// The object's view for reading. Aborts, in every build, if the object is not in this scope, and names it.
  /// \param caller  for that: where the call stands
  template <Scoped T>
  [[nodiscard]] auto in(const T& object,
                        detail::Caller caller = {__builtin_FILE(), __builtin_LINE()}) const noexcept {
    return detail::view_of(object, found(object, Use::Read, caller));
  }
  /// The object's view for writing. Aborts, in every build, if the object is not in this scope or only read there.
  template <Scoped T>
  [[nodiscard]] auto out(T& object,
                         detail::Caller caller = {__builtin_FILE(), __builtin_LINE()}) const noexcept {
    return detail::view_of(object, found(object, Use::Update, caller));
  }

  template <class T>
  requires(!Scoped<T> && !PartReference<T>) void in(const T&) const noexcept { refuse_view<T>(); }
  template <class T>
  requires(!Scoped<std::remove_const_t<T>> &&
           !PartReference<std::remove_const_t<T>>) void out(T&) const noexcept {
    refuse_view<T>();
  }

  /// The same of a part of an object. Aborts if nothing of the object is in this scope, unless the part is empty.
  template <PartReference T>
  [[nodiscard]] auto in(const T& part,
                        detail::Caller caller = {__builtin_FILE(), __builtin_LINE()}) const noexcept {
    const auto object = ScopeTraits<T>::object(part);
    if (!is_empty(part) && !has_of(object.id(), Use::Read)) [[unlikely]]
      detail::not_in_scope(object, Use::Read, operands_.all(), caller);
    return ScopeTraits<T>::view(part);
  }
  template <PartReference T>
  requires(ScopeTraits<T>::is_writable)
      [[nodiscard]] auto out(const T& part,
                             detail::Caller caller = {__builtin_FILE(), __builtin_LINE()}) const noexcept {
    const auto object = ScopeTraits<T>::object(part);
    if (!is_empty(part) && !has_of(object.id(), Use::Update)) [[unlikely]]
      detail::not_in_scope(object, Use::Update, operands_.all(), caller);
    return ScopeTraits<T>::view(part);
  }

 protected:
  template <class T>
  static constexpr void refuse_view() noexcept {
    static_assert(Scoped<std::remove_const_t<T>>,
                  "libtier: a scope gives views of tensors and of rows; a container is used as it is while "
                  "the scope is "
                  "open");
  }
  /// It lies in no block.
  template <PartReference T>
  static bool is_empty(const T& part) noexcept {
    return ScopeTraits<T>::bytes(part).empty();
  }
  /// Enters all or nothing; named operands come first.
  template <OperandList... Lists>
  explicit Scope(std::string_view kernel, const Lists&... lists)
      : operands_{(std::size_t{0} + ... + (lists.size() + further_blocks(lists)))} {
    try {
      (add_named(lists), ...);
      (add_elements(lists), ...);
      (add_further(lists), ...);
    } catch (...) {
      Manager::leave(
          operands_.all());  // advice has entered; the constructor is not through: nobody else would
      throw;
    }
    Manager* const manager = enter(kernel);
    if (manager != nullptr && manager->wants_kernels()) [[unlikely]]
      begin_kernel(*manager, kernel, hash_of_shapes(lists...));
    if constexpr (detail::checked) detail::note_accesses(chain(), operands_.all());
    if constexpr (detail::checked) (spoil(lists), ...);
  }

  /// Of an object that the scope was made with: its number is enough, since all of them are of one runtime.
  /// \pre  It has not been moved since.
  template <class T>
  [[nodiscard]] const Operand& operand_of(const T& object) const noexcept {
    const auto* const operand = find(id_of(object), Use::Read);
    if (operand == nullptr) [[unlikely]]
      detail::not_in_scope(ScopeTraits<T>::object(object), Use::Read, operands_.all(), {});
    return *operand;
  }

 private:
  template <class T>
  [[nodiscard]] static ObjectId id_of(const T& object) noexcept {
    const ObjectRef managed = ScopeTraits<T>::object(object);
    return managed.object != nullptr ? managed.id() : ScopeTraits<T>::operand(object, Use::Read).object;
  }
  /// What stands for all of the object, and permits `use`. Aborts if there is nothing of the kind.
  template <class T>
  [[nodiscard]] const Operand& found(const T& object, Use use, detail::Caller caller) const noexcept {
    const ObjectRef managed = ScopeTraits<T>::object(object);
    const auto* const operand = find(id_of(object), use);
    if (operand == nullptr || !is_of_runtime(*operand, managed)) [[unlikely]]
      detail::not_in_scope(managed, use, operands_.all(), caller);
    return *operand;
  }
  [[nodiscard]] const Operand* find(ObjectId id, Use use) const noexcept {
    for (const auto& operand : operands_.all())
      if (operand.object == id && (use == Use::Read || operand.use != Use::Read) &&
          (!operand.advice || operand.whole))
        return &operand;
    return nullptr;
  }
  /// Runtimes count their objects each from 1: an id is not enough. A block's line may be in use by other threads: it is read
  /// only where the pointers do not tell.
  [[nodiscard]] static bool is_of_runtime(const Operand& operand, ObjectRef object) noexcept {
    return operand.block == nullptr || object.object == nullptr || operand.block == object.object->block ||
           operand.block->manager == object.object->block->manager;
  }
  /// Whether some part of the object is here, and permits `use`.
  [[nodiscard]] bool has_of(ObjectId id, Use use) const noexcept {
    return std::ranges::any_of(operands_.all(), [&](const Operand& operand) {
      return operand.object == id && (use == Use::Read || operand.use != Use::Read);
    });
  }

  template <Use role, class... Ts>
  void add_named(const OperandGroup<role, Ts...>& group) {
    group.for_each([this]<class T>(T& object) {
      operands_.add([&] { return ScopeTraits<std::remove_const_t<T>>::operand(object, role); });
    });
  }
  template <Use role, class Element>
  void add_named(const OperandSet<role, Element>&) noexcept {}
  template <Use role, class T>
  void add_named(const OperandsOf<role, T>&) noexcept {}

  // Of objects whose windows are cut into blocks, those beyond the first: advice.
  [[nodiscard]] static std::size_t further_blocks(ObjectRef ref) noexcept {
    return ref.object != nullptr && ref.object->cut ? ref.object->blocks.size() - 1 : 0;
  }
  [[nodiscard]] static std::size_t further_blocks(const OperandList auto& list) noexcept {
    std::size_t count = 0;
    for_each_object(list, [&](ObjectRef ref) { count += further_blocks(ref); });
    return count;
  }
  template <OperandList List>
  void add_further(const List& list) {
    for_each_object(list, [this](ObjectRef ref) {
      if (further_blocks(ref) == 0) return;
      const Object& object = *ref.object;
      const std::span<const std::byte> bytes{object.window + object.block->size, object.window + object.size};
      for_each_block(bytes.data(), bytes.data() + bytes.size(), std::size_t(-1), [&](const void* address) {
        operands_.add([&] { return Operand::advice_at(address, List::role, bytes); });
      });
    });
  }
  /// Of what is not in windows alone.
  template <Use role, class... Ts>
  static void for_each_object(const OperandGroup<role, Ts...>& group, auto&& f) {
    group.for_each([&]<class T>(T& object) { f(ScopeTraits<std::remove_const_t<T>>::object(object)); });
  }
  template <Use role, class T>
  static void for_each_object(const OperandSet<role, T*>& set, auto&& f) {
    for (auto* object : set.elements) f(ScopeTraits<std::remove_const_t<T>>::object(*object));
  }
  template <Use role>
  static void for_each_object(const OperandSet<role, ObjectRef>& set, auto&& f) {
    for (const auto ref : set.elements) f(ref);
  }
  template <Use role, class T>
  static void for_each_object(const OperandsOf<role, T>&, auto&&) noexcept {}

  template <Use role, class... Ts>
  void add_elements(const OperandGroup<role, Ts...>&) noexcept {}
  template <Use role, class T>
  void add_elements(const OperandSet<role, T*>& set) {
    for (auto* object : set.elements)
      operands_.add([&] { return ScopeTraits<std::remove_const_t<T>>::operand(*object, role); });
  }
  template <Use role, class T>
  void add_elements(const OperandsOf<role, T>& many) {
    using Traits = ScopeTraits<std::remove_const_t<T>>;
    std::span<const std::byte> bytes;
    if constexpr (PartReference<std::remove_const_t<T>>) bytes = Traits::bytes(*many.of);
    if constexpr (requires { Traits::cover(*many.of); })
      if (auto cover = Traits::cover(*many.of)) covers_.push_back(std::move(cover));
    Traits::for_each_address(*many.of, many.count, [&](const void* address) {
      operands_.add([&] { return Operand::advice_at(address, role, bytes); });
    });
  }
  template <Use role>
  void add_elements(const OperandSet<role, ObjectRef>& set) {
    for (const auto ref : set.elements)
      if (ref.object != nullptr)
        operands_.add([&] {
          return ref.object->window != nullptr ? Operand::of_window(ref, role) : Operand::of(ref, role);
        });
  }

  /// Named operands of a kind that has shapes; sets at run time count by their sizes alone.
  template <Use role, class... Ts>
  [[nodiscard]] static std::uint64_t shapes_of(const OperandGroup<role, Ts...>& group) noexcept {
    std::uint64_t hash = 0;
    group.for_each([&]<class T>(T& object) {
      using Traits = ScopeTraits<std::remove_const_t<T>>;
      if constexpr (requires { Traits::shape_hash(object); }) hash = hash * 31 + Traits::shape_hash(object);
    });
    return hash;
  }
  template <Use role, class Element>
  [[nodiscard]] static std::uint64_t shapes_of(const OperandSet<role, Element>&) noexcept {
    return 0;
  }
  template <Use role, class T>
  [[nodiscard]] static std::uint64_t shapes_of(const OperandsOf<role, T>&) noexcept {
    return 0;
  }
  template <OperandList... Lists>
  [[nodiscard]] static std::uint64_t hash_of_shapes(const Lists&... lists) noexcept {
    std::uint64_t hash = 0;
    ((hash = hash * 31 + shapes_of(lists)), ...);
    return hash;
  }

  template <Use role, class... Ts>
  void spoil(const OperandGroup<role, Ts...>& group) noexcept {
    if constexpr (role == Use::Overwrite)
      group.for_each([this](auto& object) { spoil_object(id_of(object)); });
  }
  template <Use role, class T>
  void spoil(const OperandSet<role, T*>& set) noexcept {
    if constexpr (role == Use::Overwrite)
      for (auto* object : set.elements) spoil_object(id_of(*object));
  }
  template <Use role, class T>
  void spoil(const OperandsOf<role, T>& many) noexcept {
    if constexpr (role == Use::Overwrite)
      spoil_object(ScopeTraits<std::remove_const_t<T>>::object(*many.of).id());
  }
  template <Use role>
  void spoil(const OperandSet<role, ObjectRef>& set) noexcept {
    if constexpr (role == Use::Overwrite)
      for (const auto ref : set.elements)
        if (ref.object != nullptr) spoil_object(ref.id());
  }
  /// Of what is in windows, the blocks that are entered to be overwritten.
  void spoil_object(ObjectId id) noexcept {
    for (const auto& operand : operands_.all())
      if (operand.object == id && operand.use != Use::Read &&
          (!operand.advice || (operand.entered && operand.use == Use::Overwrite)))
        detail::spoil(operand);
  }

  /// Inlined by force: as a call it costs a tenth of what a scope on one resident object takes.
  /// \return  the operands' manager; null if no runtime manages one of them
  [[gnu::always_inline]] Manager* enter(std::string_view kernel) {
    Manager* manager = nullptr;
    std::uint64_t stamp = 0;
    bool slow = false;
    for (auto& operand : operands_.all()) {
      if (operand.block == nullptr) continue;
      if (manager == nullptr) {
        manager = operand.block->manager;
        stamp = manager->clock().stamp();
      }
      slow |= operand.block->manager != manager;  // which is refused there
      if (operand.advice) {                       // it has tried before
        slow |= !operand.entered;
        continue;
      }
      if (!operand.block->try_enter(operand.use, stamp)) [[unlikely]] {
        slow = true;
        break;
      }
      operand.entered = true;
      operand.address = operand.block->address.load(std::memory_order_relaxed) + operand.offset;
    }
    if (slow) [[unlikely]]
      enter_slowly(*manager, kernel);
    return manager;
  }
  void end() noexcept {
    if (operands_.all().empty()) return;
    if (told_) [[unlikely]]
      end_kernel();
    if constexpr (detail::checked) detail::forget_accesses(chain(), operands_.all());
    leave();
    operands_.clear();
  }
  void leave() noexcept {
    for (const auto& operand : operands_.all())
      if (operand.block != nullptr) Manager::leave(operand);
  }

  void enter_slowly(Manager& manager, std::string_view kernel);
  void begin_kernel(Manager& manager, std::string_view kernel, std::uint64_t shapes);
  void end_kernel() noexcept;
  [[nodiscard]] const Operand* managed() const noexcept;

  detail::Nesting nesting_;
  detail::OperandBuffer operands_;
  std::vector<std::shared_ptr<void>> covers_;  // of groups: what comes to them
  struct Told {
    ThreadObserver* observer;
    ThreadObserver::Begun begun;
    std::uint64_t at_ns;  // when those were told whom the manager tells; 0: nobody
  };
  bool told_ = false;  // somebody has been told of its beginning, and waits for its end:
  Told who_;
};

}  // namespace tier
