// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The free cells of a heap that one thread keeps, and how the thread finds them.
#include <algorithm>
#include <array>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "pmr/segment.hpp"
#include "pmr/size_classes.hpp"

namespace tier::detail {

class CachedHeap;

/// Returns how many free cells of a class a thread may keep: enough to make up for a lock, but not much memory.
constexpr unsigned magazine_capacity(SizeClass c) noexcept {
  return static_cast<unsigned>(std::clamp<std::size_t>((std::size_t{32} << 10) / class_size(c), 4, 64));
}
inline constexpr unsigned all_magazines = [] {
  unsigned total = 0;
  for (unsigned c = 0; c < class_count; ++c) total += magazine_capacity(SizeClass(c));
  return total;
}();

/// Identifies a thread to its heap.
struct ThreadSeat {
  std::uint64_t heap = 0;  ///< the heap's id when the seat was taken
  Shard shard = 0;
};

/// Keeps a few free cells of each class, last in first out. Cells are pointers here: their memory is never touched.
/// \threadsafety  Confined to its thread, except the link in the heap's list, which the heap's lock guards.
class ThreadCache
    : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
 public:
  /// Takes a seat among the heap's threads.
  explicit ThreadCache(std::shared_ptr<CachedHeap> heap) noexcept;
  /// Gives all cells back.
  ~ThreadCache();
  ThreadCache(const ThreadCache&) = delete;
  ThreadCache& operator=(const ThreadCache&) = delete;

  /// Returns the heap's id at the time when this was made.
  [[nodiscard]] std::uint64_t heap_id() const noexcept { return seat_.heap; }
  /// Returns the shard that this thread's cells come from.
  [[nodiscard]] Shard shard() const noexcept { return seat_.shard; }
  /// True if the heap was released since, so that these cells are gone.
  [[nodiscard]] bool is_void() const noexcept;

  /// \return  null if there is none
  [[nodiscard]] void* pop(SizeClass c) noexcept {
    Magazine& m = magazines_[c];
    if (m.count == 0) [[unlikely]]
      return nullptr;
    return cells_[m.first + --m.count];
  }
  /// \return  false if it is full
  [[nodiscard]] bool push(SizeClass c, void* cell) noexcept {
    Magazine& m = magazines_[c];
    if (m.count == m.limit) [[unlikely]]
      return false;
    cells_[m.first + m.count++] = cell;
    return true;
  }

  /// Returns room for a batch.   \pre  There are no cells of the class.
  [[nodiscard]] std::span<void*> room(SizeClass c) noexcept;
  /// Accepts the first `count` cells of the room. The first is popped first, so that cells of a span leave in address
  /// order, as the processor expects.
  void filled(SizeClass c, std::size_t count) noexcept;
  /// Returns all cells of the class.
  [[nodiscard]] std::span<void* const> cells(SizeClass c) const noexcept {
    return {&cells_[magazines_[c].first], magazines_[c].count};
  }
  /// Returns the older half of the cells of the class.
  [[nodiscard]] std::span<void* const> oldest(SizeClass c) const noexcept;
  /// Forgets the `count` oldest cells of the class.
  void drop(SizeClass c, std::size_t count) noexcept;
  /// \return  true if there is more room for the class than before
  bool grow(SizeClass c) noexcept;

 private:
  struct Magazine {
    std::uint16_t count = 0;
    std::uint16_t limit = 0;  // grows to the capacity as the class is used
    std::uint32_t first = 0;  // in `cells_`
  };

  std::shared_ptr<CachedHeap> heap_;
  ThreadSeat seat_;
  std::array<Magazine, class_count> magazines_;
  std::array<void*, all_magazines> cells_;  // uninitialised, so that unused parts are not touched
};

/// Finds the caches of the calling thread by the id of their heap. Usable from the first static initialiser on. Once the
/// thread's thread-locals are destroyed, there are no caches.
/// \threadsafety  Each thread sees its own.
class ThreadCaches {
 public:
  /// \return  null if there is none
  [[nodiscard]] static ThreadCache* find(std::uint64_t heap) noexcept {
    for (std::size_t i = heap;; ++i) {
      const Slot& slot = slots_[i & mask_];
      if (slot.heap == heap) [[likely]]
        return slot.cache;
      if (slot.heap == 0) return nullptr;
    }
  }
  /// Makes a cache.   \return  null if that is impossible: the thread is ending, or there is no memory
  [[nodiscard]] static ThreadCache* make(const std::shared_ptr<CachedHeap>& heap) noexcept;

 private:
  struct Slot {
    std::uint64_t heap;
    ThreadCache* cache;
  };
  class Owner;  // owns the caches; has a destructor, so it is made with the first cache

  static constinit inline Slot no_slot{0, nullptr};
  static constinit thread_local const Slot* slots_;  // a power of two of them, at most half of them used
  static constinit thread_local std::size_t mask_;
  static constinit thread_local bool ended_;
};

}  // namespace tier::detail
