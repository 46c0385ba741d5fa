// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The unit that moves, and the lock-free way in and out of it.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/manager/block_state.hpp>
#include <tier/policy/policy.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tier {

class Manager;
class ReaderSlot;
struct BlockRecord;

/// The part of a block's record that a scope needs to use the block without a lock: one cache line.
///
/// A thread that holds a pin may read `address` and use the bytes; `BlockState` says how to get a pin, and when a slot of the
/// thread stands for one.
struct alignas(64) TIER_EXPORT Block {
  BlockState state;
  std::atomic<std::byte*> address{nullptr};  ///< of the primary; null if the CPU cannot reach it
  std::atomic<std::uint64_t> version{0};     ///< raised by each scope that writes; 0: never written
  std::atomic<std::uint64_t> last_use{0};    ///< epoch and order within it, see `UseClock`
  std::uint64_t size = 0;
  BlockId id = 0;
  Manager* manager = nullptr;
  BlockRecord* record = nullptr;  ///< the cold part

  /// Enters if a pin is all that is needed. If not, this still counts as a use.
  [[nodiscard]] bool try_enter(Use use, std::uint64_t stamp) noexcept {
    last_use.store(stamp, std::memory_order_relaxed);  // before the add, which waits for the line anyway
    const auto before = state.pin();
    if (before.needs_more_than_a_pin()) [[unlikely]]
      return enter_watched(before, use, stamp);
    if (use != Use::Read) version.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  /// The same for an operand that may be one of several threads'.
  /// \param slot  set if a slot of this thread stands for the pin: it is then handed to `leave`
  [[nodiscard]] bool try_enter(Use use, std::uint64_t stamp, ReaderSlot*& slot) noexcept {
    const bool reads = use == Use::Read;
    if (reads && state.glance().is_shared()) [[unlikely]]
      if ((slot = enter_shared(stamp)) != nullptr) return true;
    last_use.store(stamp, std::memory_order_relaxed);
    const auto before = state.pin();
    if (!before.is_plain()) [[unlikely]] {
      if (before.needs_more_than_a_pin()) return enter_watched(before, use, stamp);
      // One in 64: a mover takes the flag away, and then it pays to leave the block alone for a while.
      if (reads && before.is_pinned() && stamp % 64 == 0) found_pinned();
    }
    if (!reads) version.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  /// \pre  pinned.
  void note_use(Use use, std::uint64_t stamp) noexcept {
    if (use != Use::Read) version.fetch_add(1, std::memory_order_relaxed);
    last_use.store(stamp, std::memory_order_relaxed);
  }

  /// Gives a pin back. The block may be gone afterwards.
  void leave() noexcept {
    const Manager* const in = manager;
    const BlockId left = id;
    if (state.unpin().was_last_awaited()) [[unlikely]]
      last_left(in, left);
  }

  /// Gives back what `try_enter` has set.
  void leave(ReaderSlot& slot) noexcept;
  /// Replaces the slot by a pin.
  void pin_for(ReaderSlot& slot) noexcept;

  /// True if the block is in room that is kept for faults, and a use need not ask the manager. Stable while pinned.
  [[nodiscard]] bool is_passing() const noexcept {
    const auto seen = state.glance();
    return seen.is_passing() && !seen.needs_manager();
  }
  [[nodiscard]] std::uint32_t pins() const noexcept { return state.now().pins(); }

 private:
  /// Enters if the use only has to be reported; otherwise gives the pin back.
  bool enter_watched(BlockState::Value before, Use use, std::uint64_t stamp) noexcept;
  /// \return  null if the reader must pin: there is no free slot, or the block is no longer shared
  ReaderSlot* enter_shared(std::uint64_t stamp) noexcept;
  /// Lets readers share the block if two threads in turn find it pinned. One that pins it twice, as in a batch of small objects,
  /// is not kept waiting by anybody, and its uses are to be stamped one by one.
  void found_pinned() noexcept;
  /// Reports the last unpin. The block and its manager may be gone.
  static void last_left(const Manager* manager, BlockId id) noexcept;
};
static_assert(sizeof(Block) == 64);

/// Numbers uses, so that a policy can tell which came later, and reads no clock: by the manager's epoch, and within an epoch by the order on one thread.
class TIER_EXPORT UseClock {
 public:
  [[nodiscard]] std::uint64_t stamp() noexcept {
    thread_local std::uint64_t last = 0;
    const auto start = epoch_.load(std::memory_order_relaxed) << order_bits;
    last = (last < start ? start : last + 1);
    return last;
  }
  /// Makes all later uses later than all earlier ones, on any thread.
  void advance() noexcept { epoch_.fetch_add(1, std::memory_order_relaxed); }

 private:
  static constexpr unsigned order_bits = 20;
  std::atomic<std::uint64_t> epoch_{1};
};

}  // namespace tier
