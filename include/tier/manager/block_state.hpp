// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The atomic word that a block's users and its movers share.
#include <tier/core/assert.hpp>
#include <tier/core/export.hpp>

#include <atomic>
#include <cstdint>

namespace tier {

/// Records who uses a block and what happens to it: a count of pins, and flags, in one atomic word.
///
/// A scope pins a block by one add, and the value before tells whether it may use the bytes. Everything else is done under
/// the manager's lock; only pins come and go without it.
///
/// Where several threads read a block, their adds take its cache line from each other. Such a block is *shared*: a reader
/// says so in a slot of its own thread instead of pinning (`ReaderSlots`), then looks at the word, and goes on if the word
/// is unchanged. Whoever wants to move the block, or to know its pins, first clears the flag and then looks through the slots:
/// of the two, at least one sees the other. A reader that is found there has a pin from then on. This is the idea of BRAVO
/// (Dice and Kogan, "BRAVO: biased locking for reader-writer locks", USENIX ATC 2019), which keeps all slots in one table.
///
/// The flags and when they may change:
///
///  flag      | set                                | cleared               | while it is set
///  ----------|------------------------------------|-----------------------|----------------------------------------------
///  moving    | from settled, without foreign pins | when the move ends    | a transfer, or a slide, has the bytes
///  retired   | any time                           | by an overwrite       | the bytes go, or have gone, with the last pin
///  failed    | while moving                       | by the next try       | the bytes could not be read
///  awaited   | any time                           | when the last pin goes| the last unpin tells the manager
///  shared    | by a reader, if no flag is set     | before pins decide    | readers may use slots in place of pins
///  asks, watched, outside, passing: hints for entry, set together from what the manager knows (`set_hints`)
///
/// Moving, retired, failed and asks send an entry to the manager's lock. Checked builds abort on any other transition.
/// \threadsafety  Internally synchronised.
class TIER_EXPORT BlockState {
 public:
  /// The word at one moment.
  class Value {
   public:
    constexpr explicit Value(std::uint64_t word = 0) noexcept : word_{word} {}

    [[nodiscard]] constexpr std::uint32_t pins() const noexcept {
      return static_cast<std::uint32_t>(word_ & pins_mask);
    }
    [[nodiscard]] constexpr bool is_pinned() const noexcept { return pins() != 0; }
    [[nodiscard]] constexpr bool is_moving() const noexcept { return has(moving); }
    [[nodiscard]] constexpr bool is_retired() const noexcept { return has(retired); }
    [[nodiscard]] constexpr bool has_failed() const noexcept { return has(failed); }
    [[nodiscard]] constexpr bool is_awaited() const noexcept { return has(awaited); }
    [[nodiscard]] constexpr bool is_outside() const noexcept { return has(outside); }
    [[nodiscard]] constexpr bool is_passing() const noexcept { return has(passing); }
    [[nodiscard]] constexpr bool is_shared() const noexcept { return has(shared); }
    /// True if nobody pins the block, and no flag is set.
    [[nodiscard]] constexpr bool is_plain() const noexcept { return word_ == 0; }
    /// True if a use of the bytes must ask the manager.
    [[nodiscard]] constexpr bool needs_manager() const noexcept { return has(needs_manager_mask); }
    /// True if a pin alone is not enough: the manager must be asked, or told.
    [[nodiscard]] constexpr bool needs_more_than_a_pin() const noexcept {
      return has(needs_manager_mask | watched);
    }
    /// For the word before an unpin: true if that was the last pin, and the manager waits for it.
    [[nodiscard]] constexpr bool was_last_awaited() const noexcept {
      return has(awaited | retired) && pins() == 1;
    }
    /// The whole word, for messages.
    [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }

   private:
    [[nodiscard]] constexpr bool has(std::uint64_t flags) const noexcept { return (word_ & flags) != 0; }

    std::uint64_t word_;
  };

  /// Flags that entry may read without the lock.
  struct Hints {
    bool asks = false;     ///< a use needs a decision, a fetch or a charge; or ends archiving
    bool watched = false;  ///< the policy or an observer wants to be told of uses
    bool outside = false;  ///< not in the fastest tier
    bool passing = false;  ///< in a window, and in room that is kept for faults
  };

  /// \return  the word, with acquire order: writes before its flags were set or cleared are seen
  [[nodiscard]] Value now() const noexcept { return Value{word_.load(std::memory_order_acquire)}; }
  /// The same without an order, for hints and for reads under the manager's lock.
  [[nodiscard]] Value glance() const noexcept { return Value{word_.load(std::memory_order_relaxed)}; }

  // --- pins: any thread -----------------------------------------------------------------------------------

  /// \return  the word before: without `needs_manager` the bytes may be used. (1) acquires what `end_move` released.
  Value pin() noexcept { return Value{word_.fetch_add(one_pin, std::memory_order_acquire)}; }  // (1) <- (2)
  /// \return  the word before
  Value unpin() noexcept {
    const Value before{word_.fetch_sub(one_pin, std::memory_order_acq_rel)};
    TIER_ASSERT(before.is_pinned(), "a block must not be unpinned more often than it was pinned");
    return before;
  }

  /// Lets readers use slots from here on, if no flag says that anybody waits for their pins, or must be asked.
  void share() noexcept {
    auto word = word_.load(std::memory_order_relaxed);
    if ((word & ~pins_mask) == 0)
      word_.compare_exchange_strong(word, word | shared, std::memory_order_acq_rel);
  }
  /// For a reader that has taken a slot: true if no pin is needed. (5) is in one order with (6) and with what slots say.
  [[nodiscard]] bool lets_readers_in() const noexcept {
    const Value seen{word_.load(std::memory_order_seq_cst)};  // (5) <-> (6)
    return seen.is_shared() && !seen.needs_more_than_a_pin();
  }

  // --- under the manager's lock ---------------------------------------------------------------------------

  /// Pins whatever the word says. A thread that sees the pin also sees what this thread did before.
  /// \return  the word before
  Value pin_anyway() noexcept { return Value{word_.fetch_add(one_pin, std::memory_order_acq_rel)}; }

  static constexpr std::uint32_t any_pins = 0xFFFF'FFFF;

  /// Goes from settled to moving.
  /// \param own_pins  number of pins that do not stand in the way
  /// \return          false if there are more pins, readers share the block again, or it moves already or is retired
  [[nodiscard]] bool try_begin_move(std::uint32_t own_pins = 0) noexcept {
    auto word = count_readers().word();
    do {
      const Value value{word};
      if (value.pins() > own_pins || value.is_moving() || value.is_retired()) return false;
      if (value.is_shared()) return false;  // again: it is being read
    } while (!word_.compare_exchange_weak(word, word | moving, std::memory_order_acq_rel));
    return true;
  }
  /// Ends a move, as its last step: from here on scopes may enter.
  void end_move() noexcept {
    [[maybe_unused]] const Value before{clear(moving)};  // (2) -> (1)
    TIER_ASSERT(before.is_moving(), "only a move that has begun can end");
  }
  /// Marks the contents dead: the bytes go with the last pin.
  void retire() noexcept {
    set(retired);
    count_readers();
  }
  /// Gives each reader that has a slot a pin, and sends later readers to the word.
  /// \return  the word, with acquire order: all who use the block have pins there, unless it is shared again
  Value count_readers() noexcept {
    const auto seen = now();
    return seen.is_shared() ? count_slots() : seen;
  }
  /// Marks the contents alive: there are bytes, or will be.   \return  true if the block was retired
  bool revive() noexcept { return Value{clear(retired)}.is_retired(); }
  /// Notes that the transfer could not read the bytes.
  void fail() noexcept {
    [[maybe_unused]] const Value before{set(failed)};
    TIER_ASSERT(before.is_moving(), "reading can fail only while the block moves");
  }
  /// Notes that the bytes are read again, or have been written anew.
  void recover() noexcept { clear(failed); }
  /// Has the last unpin tell the manager from here on.   \return  the word before: without pins, no unpin will tell
  Value await_last_pin() noexcept {
    const Value before{set(awaited)};
    return before.is_shared() ? count_slots() : before;
  }
  void stop_awaiting() noexcept { clear(awaited); }
  void set_hints(const Hints& hints) noexcept {
    const auto flags = (hints.asks ? asks : 0) | (hints.watched ? watched : 0) |
                       (hints.outside ? outside : 0) | (hints.passing ? passing : 0);
    // Only this changes them.
    const auto changed = (word_.load(std::memory_order_relaxed) & hints_mask) ^ flags;
    if (changed != 0) word_.fetch_xor(changed, std::memory_order_release);
  }
  /// Starts a new block: settled, without pins.
  void reset() noexcept { word_.store(0, std::memory_order_release); }

 private:
  static constexpr std::uint64_t one_pin = 1, pins_mask = 0xFFFF'FFFF;
  static constexpr std::uint64_t awaited = 1ULL << 32, retired = 1ULL << 33, moving = 1ULL << 34,
                                 failed = 1ULL << 35;
  static constexpr std::uint64_t asks = 1ULL << 36, watched = 1ULL << 37, outside = 1ULL << 38,
                                 passing = 1ULL << 39;
  static constexpr std::uint64_t shared = 1ULL << 40;
  static constexpr std::uint64_t hints_mask = asks | watched | outside | passing;
  static constexpr std::uint64_t needs_manager_mask = retired | moving | failed | asks;

  /// \pre  shared   \return  the word
  Value count_slots() noexcept;

  std::uint64_t set(std::uint64_t flags) noexcept { return word_.fetch_or(flags, std::memory_order_acq_rel); }
  std::uint64_t clear(std::uint64_t flags) noexcept {
    return word_.fetch_and(~flags, std::memory_order_acq_rel);
  }

  std::atomic<std::uint64_t> word_{0};
};

}  // namespace tier
