// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Moves bytes between tiers: now, in parallel; or in the background, by priority.
#include <tier/copy/virtual_clock.hpp>
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/memory/tier.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <system_error>

namespace tier {
namespace detail {
class Chunk;
}

/// A range of a tier.
struct TierRange {
  Tier* tier = nullptr;
  std::uint64_t offset = 0;
  std::byte* memory = nullptr;  ///< where its bytes are if not at the tier's base: in a window
};

enum class Priority : std::uint8_t {
  Idle,  ///< write-behind, compaction
  Prefetch,
  Awaited  ///< somebody waits for it
};

/// One move of `size` bytes from one tier to another, cut into chunks that may be carried out by several threads.
/// Its owner keeps it alive until `finished()`, and may delete it there; ranges must stay valid until then, cancelled
/// or not. On a tier that the CPU cannot address, offsets, size and the memory on the other side are multiples of its
/// `io_alignment()`.
///
/// Life: idle -> submitted (or run) -> finished; it may then be submitted again, also from inside `finished()`.
/// `finished()` is called exactly once each time, by whichever thread ends the last chunk, without a lock of the
/// engine held.
class TIER_EXPORT CopyTask {
 public:
  virtual ~CopyTask();
  CopyTask(const CopyTask&) = delete;
  CopyTask& operator=(const CopyTask&) = delete;

  TierRange to;
  TierRange from;
  std::uint64_t size = 0;
  /// The copy is about to be read by the CPU: use ordinary stores where it fits the cache.
  bool warm = false;
  /// The program may touch the bytes meanwhile, and the system orders that (a window's write protection): nothing for
  /// ThreadSanitizer to look at.
  bool unannounced = false;
  /// Set before `finished()` is told of an error, unless `prepare()` has refused: whether reading `from` failed, or writing `to`.
  Direction failed = Direction::Read;

 protected:
  CopyTask();
  /// Called before bytes of the task move, for each chunk of it, by the thread that moves it, without a lock of the
  /// engine held; several threads at once for different chunks. May take long.
  /// \param offset, size  the chunk; it has no bytes where the task has none
  /// \return              an error that ends the task before they have moved
  virtual std::error_code prepare(std::uint64_t offset, std::uint64_t size) noexcept;
  /// \param error      the first failure of either tier; the destination is then unspecified
  /// \param cancelled  `cancel()` came before the last chunk had ended: the destination is unspecified
  virtual void finished(std::error_code error, bool cancelled) noexcept = 0;

 private:
  friend class CopyEngine;
  friend class detail::Chunk;
  struct TIER_INTERNAL State;  // chunk counter, flags, links: see copy_engine.cpp
  alignas(std::max_align_t) std::byte state_[128];
};

/// Carries out copies. Synchronous ones run in a private, isolated TBB arena; background ones on this engine's own
/// mover threads, highest priority first, one chunk at a time, so that what a scope waits for overtakes the rest.
/// Non-temporal stores where they measure faster, one fence per worker; file tiers by batches of deep-queue I/O.
/// \threadsafety  Internally synchronised. No call holds a lock while bytes move or while `finished()` runs.
class TIER_EXPORT CopyEngine {
 public:
  struct Options {
    unsigned threads = 0;  ///< for synchronous copies; 0: one for each CPU of this process
    unsigned movers = 1;   ///< background threads; without one, submitted tasks wait for `run()`
    /// Movers copy between memories what nobody waits for only on cores that are idle, found by one thread each of the
    /// lowest priority, or else a chunk every 20 ms. None: if the process may use four CPUs at most, since of so few a mover
    /// takes more than the copy costs with all of them.
    std::optional<bool> yields{};
    /// Copies take its time and no other, without threads: one mover carries out what is submitted, as far as `pass` lets
    /// it come. It outlives the engine, which one thread uses, and tiers have no bytes.
    VirtualClock* clock = nullptr;
  };
  struct Counters {  ///< bytes that arrived; tasks that ended cancelled
    std::uint64_t chunks = 0, synchronous_bytes = 0, background_bytes = 0, cancelled = 0;
  };

  /// \throws  `std::system_error` if a thread cannot start, `std::bad_alloc`; nothing is left behind
  explicit CopyEngine(Options options);
  /// \pre  Every submitted task has finished.
  ~CopyEngine();

  /// Carries out all tasks now, chunks taken dynamically by the arena's threads and the caller. Also joins tasks
  /// that were submitted before: it helps with the chunks that are left, and returns when none is in flight.
  /// Each `finished()` has returned when this does (perhaps on another thread); it is not run again if it had before.
  /// \pre  Whoever passes a task that was submitted sees to it that it is not deleted before this call has joined it.
  void run(std::span<CopyTask* const> tasks) noexcept;

  /// Helps with the chunks that are left of a task that was submitted, and does not wait for those in flight.
  /// \pre  The task is not deleted meanwhile.
  void help(CopyTask& task) noexcept;

  /// Hands a task to the movers; returns at once.
  void submit(CopyTask& task, Priority priority) noexcept;
  /// A submitted task overtakes those of lower priority from its next chunk on.
  void raise(CopyTask& task, Priority priority) noexcept;
  /// No further chunk begins. Returns at once; `finished(…, true)` follows when the chunk in flight has ended.
  /// A task that had ended already is left alone; one that has not begun ends so as soon as it is run or submitted.
  void cancel(CopyTask& task) noexcept;
  /// `cancel`, then waits until no CPU is reading or writing the ranges any more (one chunk at most). I/O by the
  /// device may go on: the ranges stay taken until `finished()`.
  void stop(CopyTask& task) noexcept;
  /// Nothing is copied until `resume()`, and nothing is in flight when this returns: for `fork`. Calls nest.
  /// \pre  Not called from inside `finished()`.
  void pause() noexcept;
  void resume() noexcept;

  // With a virtual clock.
  /// The program computes until `time`; meanwhile the mover works.   \return  the ns for which it did
  std::uint64_t pass(std::uint64_t time) noexcept;
  /// The program waits for the mover: time passes until its next chunk has ended.   \return  false if it has nothing to do
  bool wait_for_mover() noexcept;

  /// Each core computes, and movers yield: what is copied between memories in the background takes long now.
  [[nodiscard]] bool is_crowded() const noexcept;

  [[nodiscard]] Counters counters() const noexcept;
  /// Bytes of the buffers through which copies pass where neither side can be addressed.
  [[nodiscard]] Bytes memory() const noexcept;

 private:
  struct TIER_INTERNAL Impl;
  std::unique_ptr<Impl> impl_;
};

namespace detail {
template <class T>
inline constexpr bool is_byte_span = false;
template <std::size_t n>
inline constexpr bool is_byte_span<std::span<std::byte, n>> = true;
template <std::size_t n>
inline constexpr bool is_byte_span<std::span<const std::byte, n>> = true;

TIER_EXPORT void copy(std::span<std::byte> dst, std::span<const std::byte> src);
}  // namespace detail

/// Copies `src` to `dst` in parallel, with non-temporal stores from the size on where they measure faster. Both are spans,
/// not what converts to one: another `copy` of containers over `Allocator` must not find this one.
/// \param dst, src  same size, any alignment; the ranges do not overlap
/// \post            every byte is visible to the caller and to whoever synchronises with it
/// \throws          `std::out_of_range` naming both sizes if they differ; nothing is copied
/// \threadsafety    safe on disjoint `dst`; hold no lock across it
template <class To, class From>
requires(detail::is_byte_span<To>&& detail::is_byte_span<From>) void copy(To dst, From src) {
  detail::copy(dst, src);
}

}  // namespace tier
