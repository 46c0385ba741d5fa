// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Moves bytes between tiers: at once, in parallel; or in the background, by priority.
#include <tier/copy/copy.hpp>
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
class TaskLifecycle;
}  // namespace detail

/// A range of a tier.
struct TierRange {
  Tier* tier = nullptr;
  std::uint64_t offset = 0;
  std::byte* memory = nullptr;  ///< address of the bytes if they are in a window, not at the tier's base
};

enum class Priority : std::uint8_t {
  Idle,  ///< write-behind, compaction
  Prefetch,
  Awaited  ///< a thread waits for it
};

/// One copy for a `CopyEngine`: `size` bytes from one tier to another. A program derives from it, and is told in
/// `finished()` when the copy has ended. Several threads may carry out its chunks. The owner keeps the task alive until
/// `finished()`, and may delete it there. The ranges stay valid until then, even if the task is cancelled. If the CPU
/// cannot address a tier, offsets, size and the memory on the other side are multiples of that tier's `io_alignment()`.
///
/// Life: idle -> submitted (or run) -> finished; it may then be submitted again, also from inside `finished()`.
/// `finished()` is called exactly once each time, by the thread that ends the last chunk, without a lock of the engine.
class TIER_EXPORT CopyTask {
 public:
  virtual ~CopyTask();
  CopyTask(const CopyTask&) = delete;
  CopyTask& operator=(const CopyTask&) = delete;

  TierRange to;
  TierRange from;
  std::uint64_t size = 0;
  /// The CPU is about to read the copy: use ordinary stores if it fits the cache.
  bool warm = false;
  /// Hides the copy from ThreadSanitizer: the program may touch the bytes meanwhile, and the system orders the accesses by
  /// a window's write protection.
  bool unannounced = false;
  /// The side that failed: reading `from` or writing `to`. Set before `finished()` gets an error, unless `prepare()`
  /// refused.
  Direction failed = Direction::Read;

 protected:
  CopyTask();
  /// Called before each chunk moves, by the thread that moves it, without a lock of the engine; by several threads at
  /// once for different chunks. May take long.
  /// \param offset, size  the chunk; `size` is 0 if the task has no bytes
  /// \return              an error that ends the task before the chunk moves
  virtual std::error_code prepare(std::uint64_t offset, std::uint64_t size) noexcept;
  /// Called when the task has ended.
  /// \param error      the first failure of either tier; the destination is then unspecified
  /// \param cancelled  `cancel()` came before the last chunk had ended; the destination is then unspecified
  virtual void finished(std::error_code error, bool cancelled) noexcept = 0;

 private:
  friend class CopyEngine;
  friend class detail::Chunk;
  friend class detail::TaskLifecycle;
  struct TIER_INTERNAL State;  // chunk counter, flags, links: see task_state.hpp
  alignas(std::max_align_t) std::byte state_[128];
};

/// Copies bytes between tiers: at once, with all threads, or in the background, by priority. Synchronous copies run in a
/// private, isolated TBB arena; background copies on this engine's own mover threads, highest priority first, one chunk
/// at a time, so that a copy that a scope awaits overtakes the rest. Uses non-temporal stores if they measure faster,
/// with one fence per worker; batches of deep-queue I/O for file tiers.
/// \code{.cpp}
/// #include <tier/memory/tiers.hpp>
/// struct Copy final : tier::CopyTask {
///   void finished(std::error_code error, bool /*cancelled*/) noexcept override { failure = error; }
///   std::error_code failure;
/// };
/// const auto fast = tier::make_tier(tier::tiers::dram(4_MiB));
/// const auto slow = tier::make_tier(tier::tiers::emulated("cxl", 4_MiB));
/// tier::CopyEngine engine{{.threads = 2, .movers = 1}};
/// Copy copy;
/// copy.from.tier = slow.get(), copy.to.tier = fast.get(), copy.size = 4 << 20;
/// engine.submit(copy, tier::Priority::Prefetch);  // a mover begins
/// std::array<tier::CopyTask*, 1> awaited{&copy};
/// engine.run(awaited);  // helps with what is left, and returns when all of it has arrived
/// assert(!copy.failure);
/// \endcode
/// \threadsafety  Internally synchronised. No call holds a lock while bytes move or while `finished()` runs.
class TIER_EXPORT CopyEngine {
 public:
  struct Options {
    unsigned threads = 0;  ///< for synchronous copies; 0: one for each CPU of this process
    unsigned movers = 1;   ///< background threads; without one, submitted tasks wait for `run()`
    /// If true, movers make copies between memories that no thread awaits only on idle cores, each found by a thread of
    /// lowest priority, or else one chunk every 20 ms. Default: true if the process may use at most four CPUs, where a
    /// mover takes more time from the program than the copy costs with all CPUs.
    std::optional<bool> yields{};
    /// Virtual time for a replay: copies take only this clock's time, without threads. One simulated mover carries out
    /// submitted tasks as `pass` lets time go on. The clock outlives the engine; one thread uses the engine; tiers have no
    /// bytes.
    VirtualClock* clock = nullptr;
  };
  struct Counters {  ///< bytes that arrived; tasks that ended cancelled
    std::uint64_t chunks = 0, synchronous_bytes = 0, background_bytes = 0, cancelled = 0;
  };

  /// \throws  `std::system_error` if a thread cannot start, `std::bad_alloc`; nothing is left behind
  explicit CopyEngine(Options options);
  /// \pre  Every submitted task has finished.
  ~CopyEngine();

  /// Carries out all tasks now; the arena's threads and the caller take chunks dynamically. Also joins tasks that were
  /// submitted before: it helps with the chunks that are left, and returns when none is in flight. When this returns, each
  /// `finished()` has returned, perhaps on another thread; a task that had finished before does not run again.
  /// \pre  The caller ensures that a submitted task is not deleted before this call has joined it.
  void run(std::span<CopyTask* const> tasks) noexcept;

  /// Helps with the remaining chunks of a submitted task, and does not wait for chunks in flight on other threads.
  /// \pre  The task is not deleted meanwhile.
  void help(CopyTask& task) noexcept;

  /// Hands a task to the movers; returns at once.
  void submit(CopyTask& task, Priority priority) noexcept;
  /// Raises the priority of a submitted task: it overtakes tasks of lower priority from its next chunk on.
  void raise(CopyTask& task, Priority priority) noexcept;
  /// Lets no further chunk begin. Returns at once; `finished(…, true)` follows when the chunk in flight has ended. Does
  /// nothing if the task has ended. A task that has not begun ends cancelled as soon as it is run or submitted.
  void cancel(CopyTask& task) noexcept;
  /// Cancels the task, and waits until no CPU reads or writes the ranges (one chunk at most). I/O by the device may go on:
  /// the ranges stay in use until `finished()`.
  void stop(CopyTask& task) noexcept;
  /// Stops all copying until `resume()`; nothing is in flight when this returns. For `fork`. Calls nest.
  /// \pre  Not called from inside `finished()`.
  void pause() noexcept;
  void resume() noexcept;

  // Only with a virtual clock.
  /// Lets the program compute until `time` while the mover works.   \return  ns for which the mover worked
  std::uint64_t pass(std::uint64_t time) noexcept;
  /// Lets time pass until the mover's next chunk has ended.   \return  false if the mover has nothing to do
  bool wait_for_mover() noexcept;

  /// True if movers yield and no core is idle, so that background copies between memories take long now.
  [[nodiscard]] bool is_crowded() const noexcept;

  [[nodiscard]] Counters counters() const noexcept;
  /// Returns the bytes of the buffers for copies between two tiers that the CPU cannot address.
  [[nodiscard]] Bytes memory() const noexcept;

 private:
  struct TIER_INTERNAL Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tier
