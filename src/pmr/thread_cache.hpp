// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What one thread keeps of one heap's free cells, and where it finds that.
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

/// How many free cells of a class a thread may keep: as many as pay for a lock, as long as they are not much memory.
constexpr unsigned magazine_capacity(SizeClass c) noexcept {
  return static_cast<unsigned>(std::clamp<std::size_t>((std::size_t{32} << 10) / class_size(c), 4, 64));
}
inline constexpr unsigned all_magazines = [] {
  unsigned total = 0;
  for (unsigned c = 0; c < class_count; ++c) total += magazine_capacity(SizeClass(c));
  return total;
}();

/// What a heap knows a thread by.
struct ThreadSeat {
  std::uint64_t heap = 0;  ///< the id that it had then
  Shard shard = 0;
};

/// A few free cells of each class, last in first out. Cells are pointers here: their memory is never touched.
/// \threadsafety  Confined to its thread, but for the list of its heap, which has the heap's lock.
class ThreadCache
    : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
 public:
  /// Takes its seat among the heap's threads.
  explicit ThreadCache(std::shared_ptr<CachedHeap> heap) noexcept;
  /// Gives all cells back.
  ~ThreadCache();
  ThreadCache(const ThreadCache&) = delete;
  ThreadCache& operator=(const ThreadCache&) = delete;

  /// As the heap's was when this was made.
  [[nodiscard]] std::uint64_t heap_id() const noexcept { return seat_.heap; }
  /// Where its thread's cells come from.
  [[nodiscard]] Shard shard() const noexcept { return seat_.shard; }
  /// The heap was released since: these cells are gone.
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

  /// Room for a batch.   \pre  There are no cells of the class.
  [[nodiscard]] std::span<void*> room(SizeClass c) noexcept;
  /// Takes the first `count` cells of the room, the first one to be popped first: those of a span then leave in the order
  /// in which they lie, as the processor expects.
  void filled(SizeClass c, std::size_t count) noexcept;
  /// All cells of the class.
  [[nodiscard]] std::span<void* const> cells(SizeClass c) const noexcept {
    return {&cells_[magazines_[c].first], magazines_[c].count};
  }
  /// Those that have been here longest.
  [[nodiscard]] std::span<void* const> oldest(SizeClass c) const noexcept;
  /// Forgets the `count` oldest cells of the class.
  void drop(SizeClass c, std::size_t count) noexcept;
  /// \return  whether there is more room for the class than before
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
  std::array<void*, all_magazines> cells_;  // uninitialised: what is not used is not touched
};

/// The caches of the calling thread, found by the id of their heap. Usable from the first static initialiser on; from when
/// the thread's thread-locals are destroyed on, there are none.
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
  /// Makes one.   \return  null if that cannot be: the thread is ending, or there is no memory
  [[nodiscard]] static ThreadCache* make(const std::shared_ptr<CachedHeap>& heap) noexcept;

 private:
  struct Slot {
    std::uint64_t heap;
    ThreadCache* cache;
  };
  class Owner;  // of what is found here; has a destructor, and is made when there is something to own

  static constinit inline Slot no_slot{0, nullptr};
  static constinit thread_local const Slot* slots_;  // a power of two of them, at most half of them used
  static constinit thread_local std::size_t mask_;
  static constinit thread_local bool ended_;
};

}  // namespace tier::detail
