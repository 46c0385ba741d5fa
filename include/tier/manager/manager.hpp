// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The mechanism: objects, blocks, versions, pins, states, transfers, room.
#include <tier/copy/copy_engine.hpp>
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/manager/block.hpp>
#include <tier/manager/object.hpp>
#include <tier/manager/observer.hpp>
#include <tier/manager/statistics.hpp>
#include <tier/manager/thread_observer.hpp>
#include <tier/memory/tier.hpp>
#include <tier/memory/window_mode.hpp>
#include <tier/policy/policy.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

namespace tier {

/// One object in the batch of a scope.
struct TIER_EXPORT Operand {
  Block* block = nullptr;        ///< null: memory that no runtime manages; nothing to do
  std::byte* address = nullptr;  ///< of the object; valid while entered
  ObjectId object = 0;
  std::size_t offset = 0;  ///< of the object in the block
  std::size_t size = 0;
  Use use = Use::Read;  ///< use of the block: overwriting a part of a group block is an update
  bool entered = false;
  bool advice = false;  ///< a window's block: entered if possible, otherwise skipped without an error
  bool whole = false;   ///< advice for the whole object; `address` is its window, entered or not
  bool named = false;   ///< advice for an object that the caller named: a scope on it throws if it is retired
  bool revives = false;        ///< advice to overwrite: revives the block if it is retired
  ReaderSlot* slot = nullptr;  ///< says in place of a pin that the entered block is read

  /// \throws  `TierError` for a retired part of a group, unless it is overwritten: then it gets a new place, or
  ///          `OutOfTierMemory` is thrown
  [[nodiscard]] static Operand of(ObjectRef ref, Use use) {
    const Object& o = *ref.object;
    if (o.grouped) [[unlikely]]
      return of_part(ref, use);
    return {o.block, nullptr, o.id, o.offset, o.size, use};
  }
  /// Returns advice for the block of a window in which an address lies; no block if the address is in no window. The block
  /// is entered if that takes no time; otherwise its descriptor is held until `Manager::enter` or `leave`.
  /// \param range  the used part of a named object; if it is less than the object has in the block, `Overwrite` becomes
  ///               `Update`
  /// \pre  The address is allocated.
  [[nodiscard]] static Operand advice_at(const void* address, Use use,
                                         std::span<const std::byte> range = {}) noexcept;
  /// The first block of an object with a window, as advice that stands for all of it.
  [[nodiscard]] static Operand of_window(ObjectRef ref, Use use) noexcept {
    const Object& o = *ref.object;
    auto op = advice_at(o.window, use, {o.window, o.size});
    op.address = o.window;
    op.whole = true;
    return op;
  }
  [[nodiscard]] static Operand of_unmanaged(void* address, std::size_t size, ObjectId id, Use use) noexcept {
    return {nullptr, static_cast<std::byte*>(address), id, 0, size, use};
  }

 private:
  [[nodiscard]] static Operand of_part(ObjectRef ref, Use use);
};

/// Describes the scope that a batch belongs to.
struct BatchContext {
  std::uint64_t scope = 0;
  bool root = true;  ///< no scope is open above it: it may wait for pins
  std::string_view kernel{};
  std::uint64_t shapes = 0;  ///< hash of the operands' shapes; only for `kernel_begin`
  bool advice = false;       ///< useful only where the policy wants it: in no slower tier for want of room
  bool fault = false;        ///< for an access to a window
};

/// Blocks of one manager with consecutive ids; most blocks of one window have them.
struct BlockRun {
  BlockId first = 0;
  std::uint32_t count = 0;
};

/// Owns memory in one tier that never moves: for tables and other machinery that manages its own residency. It counts
/// against the tier like any region. `address()` is null if the CPU cannot reach the tier.
class PlacedStorage {
 public:
  PlacedStorage() = default;
  PlacedStorage(PlacedStorage&&) noexcept = default;
  PlacedStorage& operator=(PlacedStorage&&) noexcept = default;

  [[nodiscard]] Tier& tier() const noexcept { return *tier_; }
  [[nodiscard]] TierIndex tier_index() const noexcept { return index_; }
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] std::byte* address() const noexcept { return address_; }
  [[nodiscard]] Bytes size_bytes() const noexcept { return handle_.size_bytes(); }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

 private:
  friend class ManagerCore;
  ObjectHandle handle_;
  Tier* tier_ = nullptr;
  TierIndex index_ = no_tier;
  std::uint64_t offset_ = 0;
  std::byte* address_ = nullptr;
};

/// Options of a manager, most of them as in `RuntimeOptions`.
struct ManagerOptions {
  unsigned threads = 0;          ///< for synchronous copies; 0: one for each CPU of this process
  unsigned movers = 1;           ///< background threads
  std::optional<bool> yields{};  ///< as in `CopyEngine::Options`
  std::chrono::milliseconds report_waits_after{10'000};
  std::optional<WindowMode> windows{};  ///< none: full if the system permits it
  Bytes window_blocks{0};  ///< largest block: a power of two, 64 KiB to 2 MiB; 0: a 32nd of the fastest tier
  /// Bytes of the fastest tier that windows of freed objects may keep for the next objects of their size, until the room is
  /// needed. None: an eighth, but nothing in checked builds, which detect accesses to freed objects.
  std::optional<Bytes> cached_windows{};
  /// Replaces the machine's clock, for replay: copies take its time, and `copies().pass()` stands for the program's
  /// computing. One thread uses the manager, all tiers are simulated, and there are no windows. The clock outlives the
  /// manager.
  VirtualClock* clock = nullptr;
};

/// The base of what must be told when the process forks and when the runtime ends, because it works on a manager's tiers with
/// threads and locks of its own, as tables do. It rests while the process
/// forks, and stops with the runtime. It may wait for calls of the manager.
class TIER_EXPORT Companion {
 public:
  virtual ~Companion() = default;
  /// Comes to rest and holds its locks, so that the child finds everything in order.
  virtual void before_fork() noexcept = 0;
  /// Goes on. In the child it does nothing on its own any more, and does not touch the tiers, which are the parent's.
  virtual void after_fork(bool in_child) noexcept = 0;
  /// Stops: after the return it does nothing on its own any more.
  virtual void stop() noexcept = 0;
  /// Adds its tables and the ordinary memory that it keeps.
  virtual void add_statistics(Statistics& statistics) const = 0;
};

/// Keeps the objects of a runtime, and moves their blocks between its tiers: the core of a runtime. Programs hand
/// `Runtime::manager()` to what is made in a runtime, such as tables, and reach the rest through `Runtime` and scopes.
/// Objects hold it alive.
///
/// Lock order: this lock, then nothing (heaps are behind it). Policy and observers are called under it; bytes move
/// outside it. Invariants, checked by `check_invariants()`: (I1) a live block has one primary region, unless it is
/// retired; (I2) its regions lie in different tiers; (I3) a tier's used bytes are the sum of its regions with slack
/// and of condemned ranges, and at most its capacity; (I4) a block is marked moving exactly while it has a transfer or
/// slides;
/// (I5) a settled block's address is its primary's; (I6) every region belongs to a block, a transfer or a room in the
/// making, or is its tier's spare or cached in a window, which statistics do not count.
/// \threadsafety  Internally synchronised.
class TIER_EXPORT Manager : public std::enable_shared_from_this<Manager> {
 public:
  /// \param tiers   1 to `max_tiers` tiers in any order; sorted here by `is_faster()`
  /// \throws        `ConfigError` if no tier is addressable, or there are too many
  [[nodiscard]] static std::shared_ptr<Manager> make(std::vector<std::unique_ptr<Tier>> tiers,
                                                     std::unique_ptr<Policy> policy, ManagerOptions options);
  virtual ~Manager() = default;

  // Objects.
  /// Makes an object with undefined contents.
  /// \param alignment  a power of two, up to 2 MiB
  /// \throws           `OutOfTierMemory`, or `TierError` in the child of a fork; nothing has changed
  [[nodiscard]] virtual ObjectHandle create(Bytes size, std::size_t alignment, std::string_view name) = 0;
  /// Like `create`, but without a place: the object is as if retired, and gets a place when it is overwritten.
  [[nodiscard]] virtual ObjectHandle create_empty(Bytes size, std::size_t alignment,
                                                  std::string_view name) = 0;
  /// Like `create`, but in the given tier and never moved. In the fastest tier it leaves room for the largest block that
  /// must be brought there from another tier before the CPU can use it.
  /// \throws  also `ConfigError` if the tier does not exist
  [[nodiscard]] virtual PlacedStorage allocate_fixed(Bytes size, std::size_t alignment, TierIndex tier,
                                                     std::string_view name) = 0;
  /// Like `create`, at an address that never changes while the bytes behind it move, in blocks of up to 2 MiB. The
  /// program may load and store there at any time, in scopes or not. Contents are undefined after `madvise(MADV_DONTNEED)`.
  /// \throws  also `TierError` if the system refuses what windows need: with `WindowMode::Full`, permission for the process
  ///          to serve its own page faults
  [[nodiscard]] virtual ObjectHandle create_window(Bytes size, std::size_t alignment,
                                                   std::string_view name) = 0;
  /// Like `create_window`, with one block of 64 KiB and address space for more, where `grow` adds blocks.
  [[nodiscard]] virtual ObjectHandle reserve_window(Bytes most, std::size_t alignment,
                                                    std::string_view name) = 0;
  /// Adds blocks until the object has at least `size` bytes: each as large as all before it, up to the limit.
  /// \pre     `reserve_window` made the object with at least this maximum; no other thread grows or destroys it meanwhile.
  /// \throws  as `create_window`; nothing has changed
  virtual void grow(ObjectRef object, Bytes size) = 0;
  virtual void destroy(Object& object) noexcept = 0;

  // Scopes.
  /// Enters all operands or none: fetches, makes room, pins. Advice is entered as far as it fits.
  /// \throws  `OutOfTierMemory`, `TierError` naming the object that cannot be read; nothing is entered then
  virtual void enter(std::span<Operand> batch, const BatchContext& context) = 0;
  /// Keeps the block's descriptor, whatever becomes of its object, until `enter` or `leave` of this operand.
  virtual void hold(Operand& operand) noexcept = 0;
  virtual void let_go(Operand& operand) noexcept = 0;
  /// Enters advice if that takes no time and leaves room for faults.
  bool advise(Operand& operand) noexcept;
  /// Leaves the operands that `enter` entered.
  static void leave(std::span<Operand> batch) noexcept;
  /// Leaves one operand that was entered.
  static void leave(const Operand& operand) noexcept {
    if (operand.advice)
      operand.block->manager->advised_.fetch_sub(operand.block->size, std::memory_order_relaxed);
    if (operand.slot != nullptr) [[unlikely]]
      return operand.block->leave(*operand.slot);
    operand.block->leave();
  }
  /// Leaves advice whose block lies in the room kept for faults.   \return  true if it did
  static bool leave_if_passing(Operand& operand) noexcept;
  /// Finds the tier of each entered operand of a batch.
  /// \param tiers  one for each operand; `no_tier` for memory that no runtime manages
  virtual void locate(std::span<const Operand> batch, std::span<TierIndex> tiers) const noexcept = 0;
  [[nodiscard]] UseClock& clock() noexcept { return clock_; }
  /// True if kernels are reported: to the `thread_observer()`, if there is one, and if `tells_kernels()` to the observers
  /// of `kernel_begin` and `kernel_end`.
  [[nodiscard]] bool wants_kernels() const noexcept { return wants_kernels_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool tells_kernels() const noexcept { return tells_kernels_.load(std::memory_order_relaxed); }
  /// Returns the thread observer, which lives as long as the manager. (3) acquires what was made before it was set.
  [[nodiscard]] ThreadObserver* thread_observer() const noexcept {
    return thread_observer_.load(std::memory_order_acquire);  // (3) <- (4)
  }
  /// \throws  `std::bad_alloc`; nothing has been reported then
  virtual void kernel_begin(const BatchContext& context, std::span<const Operand> batch) = 0;
  /// Enqueues the end; takes the lock only if the thread's ring has no place left for kernel ends.
  virtual void kernel_end(std::uint64_t scope, std::uint64_t duration_ns) noexcept = 0;

  // Hints and promises.
  virtual void hint(Hint hint, ObjectRef object, std::uint64_t scope) = 0;
  /// The same for those blocks of the run that exist.
  virtual void hint(Hint hint, BlockRun blocks, std::uint64_t scope) = 0;
  /// Enqueues a hint from a destructor; drops and counts it if the thread's ring is full. A hint on an object or on a run
  /// of blocks takes one place.
  virtual void hint_later(Hint hint, ObjectRef object, std::uint64_t scope) noexcept = 0;
  virtual void hint_later(Hint hint, BlockRun blocks, std::uint64_t scope) noexcept = 0;
  /// Asks for a fetch to the fastest addressable tier, now. Never waits, never pins.
  /// \return  `Done` (begun, or already there), `Full`, `Pinned`, `Gone`
  virtual Outcome prefetch(ObjectRef object) noexcept = 0;
  virtual Outcome prefetch(BlockId block) noexcept = 0;
  /// Declares the contents dead. A pinned object is retired at its last unpin. It may be overwritten again afterwards.
  virtual void retire(ObjectRef object) noexcept = 0;
  /// Retires one block of an object that has several. An access to it in a window, before it is revived, ends the program.
  virtual void retire(BlockId block) noexcept = 0;
  /// Gives a retired part of a group a place again, because it will be overwritten.
  /// \throws  `OutOfTierMemory`; it is still retired then
  virtual void revive(ObjectRef object) = 0;
  /// Gives a retired block a place again, as if it were new.
  /// \throws  `OutOfTierMemory`; it is still retired then
  virtual void revive(BlockId block) = 0;

  /// Moves blocks to a tier, now; pinned blocks stay where they are, and missing ones are ignored.
  /// \throws  `ConfigError` if the tier does not exist; `OutOfTierMemory`, and `TierError` if a block cannot be read: some
  ///          blocks may have moved then
  virtual void migrate(std::span<const BlockId> blocks, TierIndex tier) = 0;

  // The runtime.
  virtual void end_of_step() = 0;
  /// Moves blocks together until each tier's free space is one run, as far as pins allow.
  /// \throws  `std::bad_alloc`; blocks that have moved stay where they are
  virtual void compact() = 0;
  /// Waits until no transfer is under way.
  virtual void quiesce() noexcept = 0;
  /// Ends the runtime: movers stop, and nothing migrates on its own any more. \return  names of the surviving objects
  virtual std::vector<std::string> close() noexcept = 0;
  /// Around a fork: brings movers to rest and holds the lock, so that the child finds everything in order.
  virtual void before_fork() noexcept = 0;
  /// Goes on. In the child, nothing migrates and nothing is freed from now on: the tiers' files and the bytes in them are
  /// the parent's. Scopes work on objects that the CPU can reach; on others they throw `TierError`.
  virtual void after_fork(bool in_child) noexcept = 0;
  /// Tells the companion of forks and of the end of the runtime from now on. In the child of a fork it is never destroyed,
  /// because its threads cannot be joined there.
  virtual void add_companion(const std::shared_ptr<Companion>& companion) = 0;
  /// Adds an observer, and at once reports all existing objects to it as if they were new.
  /// \pre  `observer` outlives the manager or is removed first.
  virtual void add_observer(Observer& observer) = 0;
  virtual void remove_observer(Observer& observer) noexcept = 0;
  /// Replaces the previous observer, which is still told of the ends of the scopes that it knows. Null: no observer.
  virtual void set_thread_observer(std::shared_ptr<ThreadObserver> observer) = 0;
  /// Returns the zero point of the times of events.
  [[nodiscard]] virtual std::chrono::steady_clock::time_point began() const noexcept = 0;
  /// Counts a move or a stall that a table has carried out itself.
  virtual void count_moved(TierIndex from, TierIndex to, Cause cause, std::uint64_t bytes,
                           std::uint64_t transfers) noexcept = 0;
  virtual void count_stall(std::uint64_t ns) noexcept = 0;

  [[nodiscard]] virtual std::size_t tier_count() const noexcept = 0;
  [[nodiscard]] virtual Tier& tier(TierIndex tier) noexcept = 0;
  /// The fastest tier.
  [[nodiscard]] static constexpr TierIndex fastest() noexcept { return 0; }
  [[nodiscard]] virtual CopyEngine& copies() noexcept = 0;
  [[nodiscard]] virtual Statistics statistics() const = 0;
  [[nodiscard]] virtual std::vector<ObjectStatistics> object_statistics() const = 0;
  /// \throws  `std::logic_error` naming the broken invariant; for tests
  virtual void check_invariants() const = 0;

 protected:
  Manager() = default;
  /// Most bytes of the fastest tier that advice may pin, so that faults always find room.
  std::uint64_t advice_limit_ = 0;
  std::atomic<std::uint64_t> advised_{0};  // bytes pinned by advice
  UseClock clock_;
  std::atomic<bool> wants_kernels_{false}, tells_kernels_{false};
  std::atomic<ThreadObserver*> thread_observer_{nullptr};
};

/// A block and its manager; null for memory that is in no window.
struct BlockRef {
  Manager* manager = nullptr;
  BlockId id = 0;
};
/// Returns the block of a window in which an address lies.
/// \threadsafety  As `object_of`.
[[nodiscard]] TIER_EXPORT BlockRef block_of(const void* address) noexcept;

/// Returns the bytes from an address to the end of its block in a window; 0 if it is in none.
/// \threadsafety  As `object_of`.
[[nodiscard]] TIER_EXPORT std::size_t bytes_to_end_of_block(const void* address) noexcept;

/// Calls `visit` with one address in each block of a range, as far as it lies in a window.   \return  the number of calls
std::size_t for_each_block(const std::byte* begin, const std::byte* end, std::size_t at_most, auto&& visit) {
  std::size_t count = 0;
  for (; begin < end && count < at_most; ++count) {
    const auto rest = bytes_to_end_of_block(begin);
    if (rest == 0) break;
    visit(begin);
    begin += rest;
  }
  return count;
}

/// Returns the object in whose window an address lies; null if it is in none.
/// \threadsafety  By any thread, while the object lives.   \complexity  O(1)
[[nodiscard]] TIER_EXPORT ObjectRef object_of(const void* address) noexcept;

}  // namespace tier
