// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How objects begin and end.
#include <tier/core/mutex.hpp>
#include <tier/manager/object.hpp>
#include <tier/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "manager/movement/movement.hpp"
#include "manager/state/state.hpp"
#include "manager/store/store.hpp"
#include "place_finder.hpp"

namespace tier {

/// Makes, retires, revives and destroys objects that have a block of their own or share one.
/// \threadsafety  Under the manager's lock, which what may throw `OutOfTierMemory` may release in between.
class Objects {
 public:
  Objects(State& state, Store& store, Movement& movement, PlaceFinder& places) noexcept
      : state_{state}, store_{store}, movement_{movement}, places_{places} {}
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;

  /// \throws  `OutOfTierMemory`, `std::bad_alloc`; nothing has changed
  [[nodiscard]] Object& create(std::size_t size, std::size_t alignment, std::string_view name,
                               MutexLock& lock);
  /// Makes an object without a place: it is as if retired.
  [[nodiscard]] Object& create_empty(std::size_t size, std::size_t alignment, std::string_view name,
                                     MutexLock& lock);
  /// Makes an object that never moves.   \pre  the tier exists
  [[nodiscard]] Object& create_fixed(std::size_t size, std::size_t alignment, TierIndex t,
                                     std::string_view name, MutexLock& lock);
  void destroy(Object& object) noexcept;

  void retire(Object& object) noexcept;
  void retire(Block& b) noexcept;
  /// Gives a retired part of a group a place again.   \throws  `OutOfTierMemory`, `TierError` if it has been destroyed
  void revive_part(Object& object, MutexLock& lock);
  /// Gives a retired block a place again.
  /// \param whole  if false, existing contents stay
  /// \throws       `OutOfTierMemory`, `TierError` if it has been destroyed
  void revive(Block& b, bool whole, MutexLock& lock);

  [[nodiscard]] static ObjectEvent event_of(const Object& object, ObjectChange change,
                                            std::size_t alignment) noexcept;
  void tell(const Object& object, ObjectChange change, std::size_t alignment = 1) noexcept;

 private:
  [[nodiscard]] bool shares_a_block(std::size_t size, std::size_t alignment) const noexcept;
  [[nodiscard]] Object& create_in_group(std::size_t size, std::size_t alignment, std::string_view name,
                                        MutexLock& lock);
  [[nodiscard]] SmallObjects::Place group_with_room(std::size_t size, std::size_t alignment,
                                                    std::string_view name, MutexLock& lock);
  void leave_part(Object& object) noexcept;
  void forget_group(Group& group) noexcept;
  void forget_part(Group& group) noexcept;
  void retire_part(Object& object) noexcept;
  void abandon(Block& b) noexcept;
  [[nodiscard]] bool tell_retired(const Block& b, bool frees) noexcept;

  State& state_;
  Store& store_;
  Movement& movement_;
  PlaceFinder& places_;
};

}  // namespace tier
