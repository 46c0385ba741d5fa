// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  In which slots threads say which blocks they read.
#include <tier/manager/block_state.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tier {

/// Says that a thread reads a block. The thread that took the slot, or the one on which its scope ends, gives it back; a mover
/// that finds it gives the reader a pin and marks the slot, so that the reader knows.
///
/// Taking and giving back are in one order with clearing the block's flag `shared` and looking at the slot.
/// \threadsafety  `take` by the owner of the slot; else internally synchronised.
class ReaderSlot {
 public:
  [[nodiscard]] bool is_free() const noexcept { return word_.load(std::memory_order_relaxed) == 0; }
  /// \pre  free
  void take(const BlockState& block) noexcept { word_.exchange(word_of(block), std::memory_order_seq_cst); }
  /// \return  true if a mover has counted the reader, who then has a pin to give back
  [[nodiscard]] bool give_back() noexcept {
    return (word_.exchange(0, std::memory_order_seq_cst) & counted) != 0;
  }

  /// True if a reader of the block has the slot, and has no pin yet.
  [[nodiscard]] bool holds(const BlockState& block) const noexcept {
    return word_.load(std::memory_order_seq_cst) == word_of(block);
  }
  /// Notes that the reader of the block has a pin.   \return  false if it has left
  [[nodiscard]] bool count(const BlockState& block) noexcept {
    auto word = word_of(block);
    return word_.compare_exchange_strong(word, word | counted, std::memory_order_seq_cst);
  }

 private:
  static constexpr std::uintptr_t counted = 1;  // beside the address of a state, which is even
  static std::uintptr_t word_of(const BlockState& block) noexcept {
    return reinterpret_cast<std::uintptr_t>(&block);
  }

  std::atomic<std::uintptr_t> word_{0};
};

/// The slots of all threads, for all managers. Each thread has a few in cache lines of its own; those of an ended thread serve
/// another. They are never freed: a mover may look at them at any time.
/// \threadsafety  Internally synchronised.
class ReaderSlots {
 public:
  /// The number of blocks that one thread can read at a time without pins.
  static constexpr std::size_t of_one_thread = 14;

  /// \return  null if the thread has no free slot, or there is no memory for its slots
  [[nodiscard]] static ReaderSlot* free_slot() noexcept {
    ReaderSlots* const slots = own_ != nullptr ? own_ : take();
    if (slots != nullptr)
      for (auto& slot : slots->slots_)
        if (slot.is_free()) return &slot;
    return nullptr;
  }
  /// Visits all slots, of living threads and of ended ones, whose scopes may go on elsewhere.
  static void for_each(auto&& visit) noexcept {
    for (auto* one = first_.load(std::memory_order_seq_cst); one != nullptr; one = one->next_)  // (7) <- (8)
      for (auto& slot : one->slots_) visit(slot);
  }

 private:
  friend class ThreadsSlots;
  static ReaderSlots* take() noexcept;

  static constinit thread_local ReaderSlots* own_;
  static constinit std::atomic<ReaderSlots*> first_;

  // Two cache lines, which processors fetch together.
  alignas(128) std::array<ReaderSlot, of_one_thread> slots_;
  ReaderSlots* next_ = nullptr;
  std::atomic<bool> is_taken_{true};
};
static_assert(sizeof(ReaderSlots) == 128);

}  // namespace tier
