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

/// What a hint may be given on: what a scope may be opened on for such a use. A set of `ObjectRef` is one of objects.
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

/// Blocks in windows whose ids follow one another.
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

/// The objects will be used soon. Advice: may start nothing, as where fast memory has no free room; docs/policies.md says which
/// hint starts what, `Statistics::hints` what came of them. As for scopes, an object is named (or a part of one that is,
/// `x.rows(a, b)`), and a container or a group stands for the blocks of windows that it is in.
/// \threadsafety  Any thread, as all of this page, while nobody moves, changes or destroys the objects.
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
/// The objects are not expected to be used for a while; the next use ends it. In windows whole blocks are meant, with what
/// else lies in them, and a use is a scope or a fetch: what is present is loaded and stored unseen.
template <HintOperand<Use::Read>... Ts>
void archive(Ts&&... objects) {
  (detail::hint_on(Hint::Archive, objects), ...);
}

template <class... Ts>
requires(!(HintOperand<Ts, Use::Read> && ...)) void archive(Ts&&...) {
  (detail::refuse_unless<HintOperand<Ts, Use::Read>, Use::Read, Ts>(), ...);
}

/// Asks for a fetch to begin now. Returns at once, whatever the size; a scope waits for what is in flight.
/// \return  `Done` (begun, or there already), or why it was refused: `Full`, `Pinned`, `Gone`
template <Scoped T>
Outcome prefetch(const T& object) noexcept {
  return detail::begin_prefetch(ScopeTraits<T>::object(object));
}

/// Prefetches each block that is in a window; memory outside windows needs no fetch.   \return  the last refusal, if there was one
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

/// Moves what is in windows to a tier, now, and returns when it is there. What a scope has open, and what is freed
/// meanwhile, stays where it is.
/// \pre     It is of one runtime.
/// \return  how many blocks of windows it lies in: 0 if it is empty, or so short that it lies in its container
/// \throws  `ConfigError` for a tier that is not there, and for what is in plain memory, which cannot move; `OutOfTierMemory` where there is no room, or what has room cannot be written (`cause()` is the device's error);
///          `TierError` for what cannot be read. Some of it may have moved; all of it can be used as before
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
  static_assert(
      ScopedInWindows<T>,
      "libtier: only what is in windows is moved by its name: a container or rows of a tensor with a window, "
      "with "
      "#include <tier/pmr/container_scopes.hpp> for containers; a tensor moves by scopes and prefetch()");
}

/// Not a hint but a promise: the contents are not needed any more. Where the object is in use, from the end of that
/// use on. It may be overwritten again.
template <Scoped... Ts>
void retire(Ts&... objects) noexcept {
  static_assert((!std::is_const_v<Ts> && ...), "retire() ends an object's contents");
  (detail::retire_object(ScopeTraits<Ts>::object(objects)), ...);
}

}  // namespace tier
