// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Hints and promises as functions, for code that has no scope at hand.
#include <tier/scope/chain.hpp>
#include <tier/scope/traits.hpp>

namespace tier {

namespace detail {
void give_hint(Hint hint, ObjectRef object);
Outcome begin_prefetch(ObjectRef object) noexcept;
void retire_object(ObjectRef object) noexcept;
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

/// Not a hint but a promise: the contents are not needed any more. Where the object is in use, from the end of that
/// use on. It may be overwritten again.
template <Scoped... Ts>
void retire(Ts&... objects) noexcept {
  static_assert((!std::is_const_v<Ts> && ...), "retire() ends an object's contents");
  (detail::retire_object(ScopeTraits<Ts>::object(objects)), ...);
}

}  // namespace tier
