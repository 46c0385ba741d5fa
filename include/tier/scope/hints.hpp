// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Hints and promises as functions, for code that has no scope at hand.
#include <tier/core/export.hpp>
#include <tier/scope/chain.hpp>
#include <tier/scope/refusals.hpp>
#include <tier/scope/traits.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

namespace tier {

/// An operand that a hint accepts: one that a scope with this use accepts. A set of `ObjectRef` is a set of objects.
template <class T, Use use>
concept HintOperand = !std::convertible_to<T, std::span<const ObjectRef>> &&
                      ((ReadOperand<T> && (use == Use::Read || WriteOperand<T>)) || WindowOperand<T, use>);

namespace detail {
TIER_EXPORT void give_hint(Hint hint, ObjectRef object);
TIER_EXPORT void give_hint(Hint hint, std::vector<BlockRef> blocks);
TIER_EXPORT Outcome begin_prefetch(ObjectRef object) noexcept;
TIER_EXPORT void retire_object(ObjectRef object) noexcept;
TIER_EXPORT void migrate(std::span<const BlockRef> blocks, TierIndex tier);
[[noreturn]] TIER_EXPORT void refuse_plain_memory();

template <ScopedInWindows T>
[[nodiscard]] std::vector<BlockRef> blocks_of(const T& object) {
  std::vector<BlockRef> blocks;
  ScopeTraits<T>::for_each_address(object, std::size_t(-1), [&](const void* address) {
    if (const auto block = block_of(address); block.manager != nullptr) blocks.push_back(block);
  });
  return blocks;
}

/// A run of blocks in windows with consecutive ids.
struct OwnedRun {
  Manager* manager;
  BlockRun blocks;
};

template <class T>
void hint_on(Hint hint, const T& object) {
  if constexpr (ScopedInWindows<T>)
    give_hint(hint, blocks_of(object));
  else
    give_hint(hint, ScopeTraits<T>::object(object));
}
}  // namespace detail

/// Hints that the objects will be used soon. May start nothing, for instance if fast memory has no free room;
/// docs/policies.md says which hint starts what, and `Statistics::hints` counts the results. As for scopes, an object (or a
/// part of one, `x.rows(a, b)`) is named; a container or a group stands for the blocks of windows that it is in.
/// \code{.cpp}
/// std::vector<tier::Tensor<float>> layers;
/// for (int i = 0; i < 8; ++i) layers.emplace_back(runtime, tier::Shape{1024, 1024});
/// for (std::size_t i = 0; i < layers.size(); ++i) {
///   if (i + 1 < layers.size()) tier::will_write(layers[i + 1]);  // comes while this one is computed
///   tier::WriteScope{layers[i]}[layers[i]](0, 0) = 1.0F;
///   tier::archive(layers[i]);  // makes room
/// }
/// \endcode
/// \threadsafety  All hints: any thread, while no other thread moves, changes or destroys the objects.
template <HintOperand<Use::Read>... Ts>
void will_use(Ts&&... objects) {
  (detail::hint_on(Hint::WillUse, objects), ...);
}
template <class... Ts>
requires(!(HintOperand<Ts, Use::Read> && ...)) void will_use(Ts&&...) {
  (detail::refuse_unless<HintOperand<Ts, Use::Read>, Use::Read, Ts>(), ...);
}
template <HintOperand<Use::Read>... Ts>
void will_read(Ts&&... objects) {
  (detail::hint_on(Hint::WillRead, objects), ...);
}
template <class... Ts>
requires(!(HintOperand<Ts, Use::Read> && ...)) void will_read(Ts&&...) {
  (detail::refuse_unless<HintOperand<Ts, Use::Read>, Use::Read, Ts>(), ...);
}
template <HintOperand<Use::Update>... Ts>
void will_write(Ts&&... objects) {
  (detail::hint_on(Hint::WillWrite, objects), ...);
}
template <class... Ts>
requires(!(HintOperand<Ts, Use::Update> && ...)) void will_write(Ts&&...) {
  (detail::refuse_unless<HintOperand<Ts, Use::Update>, Use::Update, Ts>(), ...);
}
/// Hints that the objects will not be used for a while; the next use ends it. In windows this means whole blocks, with all
/// they contain, and only a scope or a fetch counts as a use: accesses to present pages are not seen.
template <HintOperand<Use::Read>... Ts>
void archive(Ts&&... objects) {
  (detail::hint_on(Hint::Archive, objects), ...);
}

template <class... Ts>
requires(!(HintOperand<Ts, Use::Read> && ...)) void archive(Ts&&...) {
  (detail::refuse_unless<HintOperand<Ts, Use::Read>, Use::Read, Ts>(), ...);
}

/// Begins a fetch. Returns at once, whatever the size; a scope waits for fetches in flight.
/// \code{.cpp}
/// tier::Tensor<float> last{runtime, {1024, 1024}}, next{runtime, {1024, 1024}};
/// if (tier::prefetch(next) == tier::Outcome::Full) tier::archive(last);  // the scope on `next` will fetch it
/// \endcode
/// \return  `Done` (begun, or there already), or why it was refused: `Full`, `Pinned`, `Gone`
template <Scoped T>
Outcome prefetch(const T& object) noexcept {
  return detail::begin_prefetch(ScopeTraits<T>::object(object));
}

/// Prefetches each block that is in a window; memory outside windows needs no fetch.   \return  the last refusal, if any
template <ScopedInWindows T>
Outcome prefetch(const T& object) {
  Outcome outcome = Outcome::Done;
  for (const auto block : detail::blocks_of(object)) {
    const auto one = block.manager->prefetch(block.id);
    if (one != Outcome::Done) outcome = one;
  }
  return outcome;
}

template <class T>
requires(!Scoped<T> && !ScopedInWindows<T>) Outcome prefetch(const T&) {
  detail::refuse<Use::Read, const T&>();
  return Outcome::Gone;
}

/// Moves an object in windows to a tier, and returns when it is there. Blocks that a scope has open, or that are freed
/// meanwhile, stay where they are.
/// \code{.cpp}
/// tier::Tensor<float> x{runtime, {4096, 256}, tier::windowed};
/// tier::WriteScope{x.rows(0, 1)}[x.rows(0, 1)](0, 0) = 1.0F;
/// const std::size_t blocks = tier::migrate(x.rows(0, 1024), 1);  // to the second fastest tier
/// \endcode
/// \pre     All blocks belong to one runtime.
/// \return  how many blocks of windows it lies in: 0 if it is empty, or so short that it lies in its container
/// \throws  `ConfigError` for a tier that does not exist, and for plain memory, which cannot move; `OutOfTierMemory` if
///          there is no room, or blocks that occupy it cannot be written (`cause()` is the device's error); `TierError` if
///          a block cannot be read. Some blocks may have moved; all can be used as before
template <ScopedInWindows T>
std::size_t migrate(const T& object, TierIndex tier) {
  const auto blocks = detail::blocks_of(object);
  if constexpr (requires { ScopeTraits<T>::is_plain(object); })
    if (blocks.empty() && ScopeTraits<T>::is_plain(object)) detail::refuse_plain_memory();
  detail::migrate(blocks, tier);
  return blocks.size();
}

template <class T>
requires(!ScopedInWindows<T>) void migrate(const T&, TierIndex) {
  static_assert(ScopedInWindows<T>,
                "libtier: migrate() moves only what is in windows: a container (#include "
                "<tier/pmr/container_scopes.hpp>), or rows of a tensor with a window; other tensors move by "
                "scopes and prefetch()");
}

/// Promises that the contents are not needed any more. If the object is in use, this takes effect when that use ends. It
/// may be overwritten again.
/// \code{.cpp}
/// tier::Tensor<float> activations{runtime, {1024, 1024}};
/// tier::retire(activations);  // their room is free, and nothing of them is written back
/// tier::WriteScope{tier::overwrites(activations)}[activations](0, 0) = 1.0F;
/// \endcode
template <Scoped... Ts>
void retire(Ts&... objects) noexcept {
  static_assert((!std::is_const_v<Ts> && ...),
                "libtier: retire() ends an object's contents, so the object must not be const");
  (detail::retire_object(ScopeTraits<Ts>::object(objects)), ...);
}

}  // namespace tier
