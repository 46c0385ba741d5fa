// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How objects with windows begin and grow.
#include <tier/core/mutex.hpp>
#include <tier/manager/object.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "manager/movement/movement.hpp"
#include "manager/state/state.hpp"
#include "manager/store/store.hpp"
#include "objects.hpp"
#include "place_finder.hpp"

namespace tier {

/// Makes objects whose addresses never change, in blocks of up to 2 MiB, and lets them grow.
/// \threadsafety  Under the manager's lock, which all calls may release in between.
class WindowObjects {
 public:
  WindowObjects(State& state, Store& store, Movement& movement, PlaceFinder& places,
                Objects& objects) noexcept
      : state_{state}, store_{store}, movement_{movement}, places_{places}, objects_{objects} {}
  WindowObjects(const WindowObjects&) = delete;
  WindowObjects& operator=(const WindowObjects&) = delete;

  /// \param size  bytes that get blocks now   \param most  bytes that get addresses
  /// \throws      `OutOfTierMemory`, `TierError`, `std::bad_alloc`; nothing has changed
  [[nodiscard]] Object& create(std::size_t size, std::size_t most, std::size_t alignment,
                               std::string_view name, MutexLock& lock);
  /// Adds blocks until the object has at least `size` bytes: each as large as all before it, up to the limit.
  /// \throws  as `create`
  void grow(Object& object, std::size_t size, MutexLock& lock);

 private:
  [[nodiscard]] ObjectWindow* window_for(std::size_t whole, std::size_t end, std::size_t alignment,
                                         MutexLock& lock);
  [[nodiscard]] std::vector<Block*> new_blocks(ObjectWindow& window, std::size_t begin, std::size_t end,
                                               std::string_view name, MutexLock& lock);
  [[nodiscard]] Block& new_block_at(ObjectWindow& window, std::size_t offset, std::size_t size);
  void take_space(const ObjectWindow& window, std::size_t begin, std::size_t end, MutexLock& lock);
  void discard(std::span<Block* const> blocks, MutexLock& lock) noexcept;

  State& state_;
  Store& store_;
  Movement& movement_;
  PlaceFinder& places_;
  Objects& objects_;
};

}  // namespace tier
