// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The base of all pinning scopes: an entered batch of operands at its place in a chain.
#include <tier/core/config.hpp>
#include <tier/core/export.hpp>
#include <tier/scope/chain.hpp>
#include <tier/scope/conflicts.hpp>
#include <tier/scope/misuse.hpp>
#include <tier/scope/operand_buffer.hpp>
#include <tier/scope/operands.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tier {

/// Holds a scope of any kind, where its type does not matter: Read-, Write- and KernelScopes may be moved into one. Its
/// operands stay where they are until it ends, on whichever thread.
/// \code{.cpp}
/// tier::Tensor<float> weights{runtime, {1024}}, activations{runtime, {1024}};
/// std::vector<tier::Scope> open;
/// open.push_back(tier::ReadScope{weights});
/// open.push_back(tier::WriteScope{tier::overwrites(activations)});
/// open.back().out(activations)(0) = 1.0F;
/// \endcode
/// \pre           All operands that a runtime manages belong to the same one.
/// \threadsafety  Look-ups may run concurrently; open, move and end it on one thread at a time.
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

  /// Returns the chain, for a `ChainGuard` on another thread that works for this scope.
  [[nodiscard]] Chain chain() const noexcept { return nesting_.chain(); }

  /// Returns the object's view for reading. Aborts, in every build, if the object is not in this scope, and names it.
  /// \param caller  the place of the call, for the message
  template <Scoped T>
  [[nodiscard]] auto in(const T& object,
                        detail::Caller caller = {__builtin_FILE(), __builtin_LINE()}) const noexcept {
    return detail::view_of(object, found(object, Use::Read, caller));
  }
  /// Returns the object's view for writing. Aborts, in every build, if the object is not in this scope or only read there.
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

  /// Returns the view of a part of an object. Aborts if no part of the object is in this scope, unless the part is empty.
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
                  "libtier: a scope gives views of tensors and of rows only; use a container itself while "
                  "the scope is open");
  }
  /// True if the part lies in no block.
  template <PartReference T>
  static bool is_empty(const T& part) noexcept {
    return ScopeTraits<T>::bytes(part).empty();
  }
  /// Enters all operands or none; named operands come first.
  template <OperandList... Lists>
  explicit Scope(std::string_view kernel, const Lists&... lists)
      : operands_{(std::size_t{0} + ... + (lists.size() + detail::further_blocks(lists)))} {
    try {
      (lists.add_named(operands_), ...);
      (lists.add_elements(operands_, covers_), ...);
      (detail::add_further(lists, operands_), ...);
    } catch (...) {
      Manager::leave(
          operands_.all());  // advice has entered, and no destructor runs after a constructor that throws
      throw;
    }
    Manager* const manager = enter(kernel);
    if (manager != nullptr && manager->wants_kernels()) [[unlikely]]
      begin_kernel(*manager, kernel, hash_of_shapes(lists...));
    if constexpr (detail::checked) detail::note_accesses(chain(), operands_.all());
    if constexpr (detail::checked) (spoil(lists), ...);
  }

  /// Returns the operand of an object that the scope was opened with. Its id identifies it, since all operands are of one
  /// runtime.   \pre  The object has not been moved since.
  template <class T>
  [[nodiscard]] const Operand& operand_of(const T& object) const noexcept {
    const auto* const operand = find(detail::id_of(object), Use::Read);
    if (operand == nullptr) [[unlikely]]
      detail::not_in_scope(ScopeTraits<T>::object(object), Use::Read, operands_.all(), {});
    return *operand;
  }

 private:
  /// Returns the operand that covers the whole object and permits `use`. Aborts if there is none.
  template <class T>
  [[nodiscard]] const Operand& found(const T& object, Use use, detail::Caller caller) const noexcept {
    const ObjectRef managed = ScopeTraits<T>::object(object);
    const auto* const operand = find(detail::id_of(object), use);
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
  /// True if the operand is of the object's runtime. An id is not enough, because each runtime counts its objects from 1.
  /// Reads the block, whose cache line other threads may use, only if the pointers do not decide.
  [[nodiscard]] static bool is_of_runtime(const Operand& operand, ObjectRef object) noexcept {
    return operand.block == nullptr || object.object == nullptr || operand.block == object.object->block ||
           operand.block->manager == object.object->block->manager;
  }
  /// True if some part of the object is in this scope and permits `use`.
  [[nodiscard]] bool has_of(ObjectId id, Use use) const noexcept {
    return std::ranges::any_of(operands_.all(), [&](const Operand& operand) {
      return operand.object == id && (use == Use::Read || operand.use != Use::Read);
    });
  }

  template <OperandList... Lists>
  [[nodiscard]] static std::uint64_t hash_of_shapes(const Lists&... lists) noexcept {
    std::uint64_t hash = 0;
    ((hash = hash * 31 + lists.shape_hash()), ...);
    return hash;
  }

  /// Checked builds: spoils what will be overwritten.
  template <OperandList List>
  void spoil(const List& list) noexcept {
    if constexpr (List::role == Use::Overwrite) list.for_each_id([this](ObjectId id) { spoil_object(id); });
  }
  /// Spoils the operands of an object; in windows, only blocks that were entered for overwriting.
  void spoil_object(ObjectId id) noexcept {
    for (const auto& operand : operands_.all())
      if (operand.object == id && operand.use != Use::Read &&
          (!operand.advice || (operand.entered && operand.use == Use::Overwrite)))
        detail::spoil(operand);
  }

  /// Force-inlined: a call takes a tenth of the time of a scope on one resident object.
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
      slow |= operand.block->manager != manager;  // enter_slowly refuses this
      if (operand.advice) {                       // it tried to enter when it was added
        slow |= !operand.entered;
        continue;
      }
      if (!operand.block->try_enter(operand.use, stamp, operand.slot)) [[unlikely]] {
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
  detail::Covers covers_;
  struct Told {
    ThreadObserver* observer;
    ThreadObserver::Begun begun;
    std::uint64_t at_ns;  // when the manager was told; 0: it was not
  };
  bool told_ = false;  // true: `who_` was told of the beginning, and must be told of the end
  Told who_;
};

}  // namespace tier
