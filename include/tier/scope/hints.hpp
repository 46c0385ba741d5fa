// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Hints and promises as functions, for code that has no scope at hand.
#include <tier/core/export.hpp>
#include <tier/scope/chain.hpp>
#include <tier/scope/traits.hpp>

#include <span>
#include <vector>

namespace tier {

namespace detail {
TIER_EXPORT void give_hint(Hint hint, ObjectRef object);
TIER_EXPORT Outcome begin_prefetch(ObjectRef object) noexcept;
TIER_EXPORT void retire_object(ObjectRef object) noexcept;
TIER_EXPORT void migrate(std::span<const BlockRef> blocks, TierIndex tier);

template <ScopedInWindows T>
[[nodiscard]] std::vector<BlockRef> blocks_of(const T& object) {
  std::vector<BlockRef> blocks;
  ScopeTraits<T>::for_each_address(object, std::size_t(-1), [&](const void* address) {
    if (const auto block = block_of(address); block.manager != nullptr) blocks.push_back(block);
  });
  return blocks;
}
}  // namespace detail

/// The objects will be used soon. Advice: may start nothing.
/// \threadsafety  Any thread, as all of this page, while nobody moves or destroys the objects.
template <Scoped... Ts>
void will_use(const Ts&... objects) {
  (detail::give_hint(Hint::WillUse, ScopeTraits<Ts>::object(objects)), ...);
}
template <Scoped... Ts>
void will_read(const Ts&... objects) {
  (detail::give_hint(Hint::WillRead, ScopeTraits<Ts>::object(objects)), ...);
}
template <Scoped... Ts>
void will_write(const Ts&... objects) {
  (detail::give_hint(Hint::WillWrite, ScopeTraits<Ts>::object(objects)), ...);
}
/// The objects are not expected to be used for a while; the next use ends it.
template <Scoped... Ts>
void archive(const Ts&... objects) {
  (detail::give_hint(Hint::Archive, ScopeTraits<Ts>::object(objects)), ...);
}

/// Asks for a fetch to begin now. Returns at once, whatever the size; a scope waits for what is in flight.
/// \return  `Done` (begun, or there already), or why it was refused: `Full`, `Pinned`, `Gone`
template <Scoped T>
Outcome prefetch(const T& object) noexcept {
  return detail::begin_prefetch(ScopeTraits<T>::object(object));
}

/// What is in windows, block by block.   \return  the last refusal, if there was one
template <ScopedInWindows T>
Outcome prefetch(const T& object) {
  Outcome outcome = Outcome::Done;
  for (const auto block : detail::blocks_of(object)) {
    const auto one = block.manager->prefetch(block.id);
    if (one != Outcome::Done) outcome = one;
  }
  return outcome;
}

/// Moves what is in windows to a tier, now, and returns when it is there. What a scope has open, and what is freed
/// meanwhile, stays where it is.
/// \throws  `OutOfTierMemory`; some of it may have moved
template <ScopedInWindows T>
void migrate(const T& object, TierIndex tier) {
  detail::migrate(detail::blocks_of(object), tier);
}

/// Not a hint but a promise: the contents are not needed any more. Where the object is in use, from the end of that
/// use on. It may be overwritten again.
template <Scoped... Ts>
void retire(Ts&... objects) noexcept {
  static_assert((!std::is_const_v<Ts> && ...), "retire() ends an object's contents");
  (detail::retire_object(ScopeTraits<Ts>::object(objects)), ...);
}

}  // namespace tier
