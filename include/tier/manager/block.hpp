// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The unit that moves, and the lock-free way in and out of it.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/policy/policy.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tier {

class Manager;
struct BlockRecord;

/// The one word that entry, exit and movers share: pins in the low half, states and flags above.
namespace word {
inline constexpr std::uint64_t pin = 1;
inline constexpr std::uint64_t pins = 0xFFFF'FFFF;
inline constexpr std::uint64_t waiters = 1ULL << 32;  ///< somebody waits for the last unpin
inline constexpr std::uint64_t retired = 1ULL << 33;  ///< its bytes go, or have gone, at the last unpin
inline constexpr std::uint64_t moving = 1ULL << 34;   ///< a transfer is under way
inline constexpr std::uint64_t failed = 1ULL << 35;   ///< its bytes cannot be read
inline constexpr std::uint64_t asks =
    1ULL << 36;  ///< a use needs a decision, a fetch or a charge; or ends its archiving
inline constexpr std::uint64_t watched = 1ULL << 37;  ///< the policy or an observer wants to be told of uses
inline constexpr std::uint64_t outside = 1ULL << 38;  ///< not in the fastest tier
inline constexpr std::uint64_t passing = 1ULL << 39;  ///< of a window, in room that is kept for faults
inline constexpr std::uint64_t slow_entry = retired | moving | failed | asks;
inline constexpr std::uint64_t slow_exit = waiters | retired;
}  // namespace word

/// The hot line of a block: all that a scope on a resident object touches.
///
/// Entry is one add whose result decides; movers change the state by compare-exchange that requires no pins, under
/// the manager's lock. Whoever holds a pin may read `address` and use the bytes.
struct alignas(64) TIER_EXPORT Block {
  std::atomic<std::uint64_t> state{0};
  std::atomic<std::byte*> address{nullptr};  ///< of the primary; null where the CPU cannot reach it
  std::atomic<std::uint64_t> version{0};     ///< raised by each scope that writes; 0: never written
  std::atomic<std::uint64_t> last_use{0};    ///< epoch and order within it, see `UseClock`
  std::uint64_t size = 0;
  BlockId id = 0;
  Manager* manager = nullptr;
  BlockRecord* record = nullptr;  ///< the cold part

  /// Takes a pin if that needs nothing else; also where it does not, this counts as a use. (1) acquires what the
  /// publisher released.
  [[nodiscard]] bool try_enter(Use use, std::uint64_t stamp) noexcept {
    last_use.store(stamp, std::memory_order_relaxed);  // before the add, which waits for the line anyway
    const auto old = state.fetch_add(word::pin, std::memory_order_acquire);  // (1) <- (2)
    if (old & (word::slow_entry | word::watched)) [[unlikely]]
      return enter_watched(old, use, stamp);
    if (use != Use::Read) version.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  /// \pre  pinned.
  void note_use(Use use, std::uint64_t stamp) noexcept {
    if (use != Use::Read) version.fetch_add(1, std::memory_order_relaxed);
    last_use.store(stamp, std::memory_order_relaxed);
  }

  /// Gives a pin back. After it the block may be gone.
  void leave() noexcept {
    const Manager* const in = manager;
    const BlockId left = id;
    const auto old = state.fetch_sub(word::pin, std::memory_order_acq_rel);
    if ((old & word::slow_exit) != 0 && (old & word::pins) == word::pin) [[unlikely]]
      last_left(in, left);
  }

  /// True if it is in room that is kept for faults, and a use asks for nothing else. Stable while pinned.
  [[nodiscard]] bool is_passing() const noexcept {
    return (state.load(std::memory_order_relaxed) & (word::passing | word::slow_entry)) == word::passing;
  }
  [[nodiscard]] std::uint32_t pins() const noexcept {
    return static_cast<std::uint32_t>(state.load(std::memory_order_acquire) & word::pins);
  }

 private:
  /// Enters if nothing but to be told of is asked for; else gives the pin back.
  bool enter_watched(std::uint64_t old, Use use, std::uint64_t stamp) noexcept;
  /// The block and its manager may have gone.
  static void last_left(const Manager* manager, BlockId id) noexcept;
};
static_assert(sizeof(Block) == 64);

/// Orders uses without a clock: the manager's epoch, and within an epoch the order on one thread.
class TIER_EXPORT UseClock {
 public:
  [[nodiscard]] std::uint64_t stamp() noexcept {
    thread_local std::uint64_t last = 0;
    const auto start = epoch_.load(std::memory_order_relaxed) << order_bits;
    last = (last < start ? start : last + 1);
    return last;
  }
  /// After this, what is used is later than all that was used before on any thread.
  void advance() noexcept { epoch_.fetch_add(1, std::memory_order_relaxed); }

 private:
  static constexpr unsigned order_bits = 20;
  std::atomic<std::uint64_t> epoch_{1};
};

}  // namespace tier
