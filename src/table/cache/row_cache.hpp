// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The slot cache of a table: maps rows to slots, and moves rows in and out.
#include <tier/core/function_ref.hpp>
#include <tier/core/mutex.hpp>
#include <tier/manager/manager.hpp>
#include <tier/table/table_options.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "table/cache/epochs.hpp"
#include "table/cache/row_store.hpp"
#include "table/row_layout.hpp"
#include "table/row_set.hpp"

namespace tier::detail {

enum class Purpose : std::uint8_t {
  Gather,    ///< counts as a use; rows may be read in the slow tier
  Update,    ///< rows are written: every row is in a slot, and no other thread writes or writes back there
  Peek,      ///< rows are read, and the policy is not told
  Prefetch,  ///< rows are fetched ahead, only into slots that no batch holds
  Flush
};

/// The rows that one call uses; they are pinned while it does. Objects are reused, so that their memory stays.
struct RowSession {
  /// A row on its way into a slot.
  struct Fetch {
    RowId row;
    SlotId slot;
    RowId old;         ///< the row that leaves; `no_row`: the slot was free
    bool write_back;   ///< the row leaves dirty
    BatchNumber hold;  ///< the last batch that wanted the row that leaves
    std::error_code error{};
  };

  Purpose purpose = Purpose::Gather;
  BatchNumber hold = 0;      ///< the batch for which rows are held
  std::uint32_t serial = 0;  ///< tells open sessions apart
  std::uint64_t waited = 0;  ///< rows that were not there when asked for; the user of the session resets it
  bool told = false;         ///< the policy knows that the next row is asked for
  bool late = false;         ///< the next row had to be waited for; the user of the session resets both
  RowSet missed;             ///< rows that were in no slot; reset by the user of a gather or an update
  bool force = false;        ///< no other thread will make room: take any slot, whatever the policy says
  std::vector<SlotId> pins;
  std::vector<Fetch> fetches;  ///< begun; their bytes have not moved yet
  std::size_t blocks = 0;      ///< blocks that `fetches` touch, if rows of one block are adjacent there
  std::vector<RowIo> moves;
  std::vector<IoRequest> requests;
  std::uint64_t in_place_bytes = 0;  ///< bytes that the CPU read in the slow tier
  unsigned in_place_reads = 0;
  std::chrono::steady_clock::time_point in_place_since;
  RowId failed_row = 0;  ///< valid if `failure`
  std::error_code failure;
};

/// Finds rows without a lock. A local copy of the view keeps what it needs in registers.
class SlotView {
 public:
  SlotView(const std::atomic<std::uint32_t>* map, const std::byte* slots, std::size_t row_bytes) noexcept
      : map_{map}, slots_{slots}, row_bytes_{row_bytes} {}

  [[nodiscard]] const void* entry_address(RowId row) const noexcept { return &map_[row]; }
  /// Returns where the row's bytes are; null if it is in no slot. (1)
  [[nodiscard]] const std::byte* find(RowId row) const noexcept {
    const auto entry = map_[row].load(std::memory_order_acquire);  // (1) <- (2)
    return entry < pending ? slots_ + entry * row_bytes_ : nullptr;
  }

  static constexpr std::uint32_t pending = std::uint32_t{1} << 31;  ///< bit of an entry: not readable yet

 protected:
  const std::atomic<std::uint32_t>* map_;
  const std::byte* slots_;
  std::size_t row_bytes_;
};

/// Finds every row, in its slot or in the slow tier.
class DirectView : private SlotView {
 public:
  using SlotView::entry_address;

  DirectView(const SlotView& slots, const std::byte* home) noexcept : SlotView{slots}, bases_{slots_, home} {}

  [[nodiscard]] std::uint32_t entry(RowId row) const noexcept {
    return map_[row].load(std::memory_order_acquire);  // (1) <- (2)
  }
  /// Returns 1 for an entry of a row that is used in the slow tier, 0 for one of a row in a slot.
  [[nodiscard]] static std::uint32_t home_bit(std::uint32_t entry) noexcept { return entry / pending; }
  /// Returns where the row with this entry is. Branch-free, since no CPU can predict which of the two it is.
  [[nodiscard]] const std::byte* at(std::uint32_t entry, RowId row) const noexcept {
    return bases_[home_bit(entry)] + (entry + home_bit(entry) * (row - entry)) * row_bytes_;
  }
  [[nodiscard]] bool is_at_home(const std::byte* row, std::size_t home_bytes) const noexcept {
    return static_cast<std::size_t>(row - bases_[1]) < home_bytes;
  }

 private:
  std::array<const std::byte*, 2> bases_;  // bases of the slots, and of the rows in the slow tier
};

/// Caches rows of one table in slots of the fastest tier. Each row also has a home, its place in a slower tier.
///
/// The slot map has an entry for each row: a slot that holds it, a slot it is on its way to, or nowhere. A row that
/// leaves dirty stays in the map until it has been written back, so a reader that finds a slot there reads current bytes.
/// A slot gets its next row's bytes only when no thread can be reading the last one's: readers announce themselves to
/// `epochs()`. All else is decided under one lock; bytes move outside it. While a row that stays is written back it
/// cannot leave, and updates wait for it.
///
/// (C1) a row's entry names a slot whose `row` it is, or whose `row` is about to replace it; (C2) free slots, slots
/// with a row and staging that a row is stuck in are all slots; (C3) a slot in the map without its pending bit is readable;
/// (C4) a row in no slot is current in the slow tier.
/// \threadsafety  Internally synchronised; one `Update` session at a time.
class RowCache final : private RowFacts {
 public:
  /// Places slots, map and metadata in `manager`'s fastest tier.
  /// \param slow  the home of the rows
  RowCache(Manager& manager, const RowLayout& layout, const CacheShape& shape, PlacedStorage slow,
           std::unique_ptr<RowPolicy> policy, std::string name);
  ~RowCache();
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  [[nodiscard]] const RowLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] const CacheShape& shape() const noexcept { return shape_; }
  [[nodiscard]] Tier& slow() const noexcept { return home_.tier(); }
  [[nodiscard]] Bytes bytes() const noexcept { return storage_.size_bytes(); }

  /// Writes the first contents of all rows, in pieces.   \pre  Nothing else is called yet.
  /// \param fill  sets rows [first, first + count) at an address with the layout of the slow tier; the memory is zeroed
  void write_all(FunctionRef<void(RowId first, RowId count, std::byte* memory)> fill);

  // Readers use these without a lock, inside an epoch.
  [[nodiscard]] Epochs& epochs() noexcept { return epochs_; }
  [[nodiscard]] SlotView view() const noexcept { return {map_, slots_, layout_.row_bytes}; }

  // Direct use: rows that are in no slot are used in the slow tier, and only the background moves rows.
  [[nodiscard]] bool is_direct() const noexcept { return direct_ && !in_fork_child_; }
  /// \pre  is_direct()
  [[nodiscard]] DirectView direct_view() const noexcept { return {view(), home_.address()}; }
  /// Returns where the row with this entry is, for writing. Several threads may call it at once.
  /// \pre  no thread moves rows until the caller has written
  [[nodiscard]] std::byte* at_to_write(const DirectView& view, std::uint32_t entry, RowId row) noexcept {
    // A slot's first change is rare. For a row at home this reads the bit of slot 0 and ignores it.
    const auto home = DirectView::home_bit(entry);
    const auto slot = entry * (1 - home);
    if ((home | std::uint32_t{is_dirty(slot)}) == 0) [[unlikely]]
      set_dirty(slot, true);
    return const_cast<std::byte*>(view.at(entry, row));
  }
  /// Returns the version of the map. What was read between two equal even versions is consistent. Odd: it is changing.
  [[nodiscard]] std::uint64_t map_version() const noexcept {
    return map_version_.load(std::memory_order_acquire);
  }
  /// True if the log has no room for further uses.
  [[nodiscard]] bool log_is_full() const noexcept {
    return logged_.load(std::memory_order_relaxed) == shape_.log;
  }
  /// Reserves all memory that `review`, `promote` and `prefetch` need, so that they allocate nothing.
  /// \throws  `std::bad_alloc`
  void reserve(RowSession& background, std::vector<RowId>& admitted) const;
  /// Tells the policy of the uses in the log, a limited number in each call.
  /// \pre                  `admitted` is reserved
  /// \param[out] admitted  rows among these uses that the policy admits to slots
  /// \return               true if there are more
  bool review(std::vector<RowId>& admitted) noexcept TIER_EXCLUDES(mutex_);
  /// Fetches rows, as far as there is room.
  /// \pre  no thread writes rows directly; `session` is reserved; `admitted` is as `review` has left it
  void promote(RowSession& session, std::span<const RowId> admitted) noexcept TIER_EXCLUDES(mutex_);

  // Sessions.
  /// Pins rows in order, fetching those that are missing, until all are pinned, there is no room for more, or the next one
  /// would have to be waited for while others are pinned.
  /// \param addresses  set for the rows that were pinned
  /// \return           how many were pinned; at least one, unless there are no rows
  /// \throws           `TierError` naming the row that cannot be read, `OutOfTierMemory`; nothing is pinned then
  std::size_t acquire(RowSession& session, std::span<const RowId> rows, std::span<std::byte*> addresses)
      TIER_EXCLUDES(mutex_);
  /// Unpins all rows; those of an `Update` session become dirty.
  /// \param used  false: the caller has not written to the rows
  void release(RowSession& session, bool used = true) noexcept TIER_EXCLUDES(mutex_);
  /// Fetches rows, beginning with the first, and holds them for `session.hold`; handles a limited number in each call.
  /// \pre              `session` is reserved
  /// \param[out] full  true if there was no room for the next one, or a gather or an update is taking room
  /// \return           how many rows were handled
  std::size_t prefetch(RowSession& session, std::span<const RowId> rows, bool& full) noexcept
      TIER_EXCLUDES(mutex_);
  /// Writes back every dirty row.   \throws  `TierError` of the first that failed, after trying all; in the child of a
  ///                                           fork, where nothing is written
  void flush(RowSession& session) TIER_EXCLUDES(mutex_);

  // Batches.
  /// \return  a number for which rows can be held; 0 if too many batches are open
  [[nodiscard]] BatchNumber open_batch() TIER_EXCLUDES(mutex_);
  void announce(BatchNumber batch, std::span<const RowId> rows) TIER_EXCLUDES(mutex_);
  /// Ends the holds of a batch.
  /// \param announced  its rows, if the policy was told of them   \param used  true if it was gathered
  void end_batch(BatchNumber batch, std::span<const RowId> announced, bool used) noexcept
      TIER_EXCLUDES(mutex_);
  /// Holds the cached ones of these rows, unless a later announced batch holds them.
  /// \param ending  a batch that is about to end: its holds pass to `batch`
  void hold(BatchNumber batch, std::span<const RowId> rows, BatchNumber ending) noexcept
      TIER_EXCLUDES(mutex_);

  /// Reports uses that were served without a lock. The policy may hear of them later, or not at all.
  /// \param hold  the batch to hold these rows for, or 0
  void note_uses(std::span<const RowId> rows, BatchNumber hold) noexcept TIER_EXCLUDES(mutex_);
  [[nodiscard]] bool policy_wants_all() const noexcept { return wants_all_.load(std::memory_order_relaxed); }

  /// Called around a fork: waits until no session is open and no bytes move, and keeps the locks.
  void before_fork() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS;
  /// In the child the slow tier's files belong to the parent: rows that are in no slot cannot be reached.
  void after_fork(bool in_child) noexcept TIER_NO_THREAD_SAFETY_ANALYSIS;

  /// Adds this cache's counters.
  void add_statistics(TableStatistics& statistics) const TIER_EXCLUDES(mutex_);
  void reset_statistics() TIER_EXCLUDES(mutex_);
  /// \throws  `std::logic_error` naming the broken invariant; for tests, when no session is open
  void check_invariants() const TIER_EXCLUDES(mutex_);

 private:
  static constexpr std::uint32_t pending = SlotView::pending;
  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};
  static constexpr RowId no_row = ~RowId{0};

  struct SlotState {
    RowId row;              // or the next free slot
    BatchNumber hold;       // the batch it is held for, while that is open
    std::uint32_t session;  // the last that pinned it, if it still does
    std::uint32_t pins : 24;
    std::uint32_t stuck : 1;       // writing it back has failed: it cannot leave
    std::uint32_t writing : 1;     // it is being written back, and stays
    std::uint32_t prefetched : 1;  // prefetched and not asked for yet
  };
  static_assert(sizeof(SlotState) == CacheShape::slot_metadata);

  enum class Step : std::uint8_t { Ready, Busy, NoRoom };
  class MayGo;

  SlotId slot_of(RowId row) const noexcept override;

  [[nodiscard]] std::byte* slot_address(SlotId slot) const noexcept {
    return slots_ + slot * layout_.row_bytes;
  }
  [[nodiscard]] static bool is_awaited(const RowSession& session) noexcept {
    return session.purpose == Purpose::Gather || session.purpose == Purpose::Update;
  }
  [[nodiscard]] bool is_staging(SlotId slot) const noexcept { return slot >= shape_.slots; }
  [[nodiscard]] SlotId slot_at(const std::byte* address) const noexcept {
    return static_cast<SlotId>(static_cast<std::size_t>(address - slots_) / layout_.row_bytes);
  }
  /// True if the slow tier has no current copy.
  [[nodiscard]] bool is_dirty(SlotId slot) const noexcept {
    return (dirty_[slot / 32].load(std::memory_order_relaxed) >> slot % 32 & 1) != 0;
  }
  void set_dirty(SlotId slot, bool dirty) noexcept {
    const auto bit = std::uint32_t{1} << slot % 32;
    if (dirty)
      dirty_[slot / 32].fetch_or(bit, std::memory_order_relaxed);
    else
      dirty_[slot / 32].fetch_and(~bit, std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_open(BatchNumber batch) const noexcept TIER_REQUIRES(mutex_) {
    return batch != 0 && open_[batch % max_open_batches] == batch;
  }
  [[nodiscard]] bool is_held(const SlotState& state) const noexcept TIER_REQUIRES(mutex_) {
    return is_open(state.hold);
  }
  /// Holds the slot for `batch`. An announced batch ranks before others, and among equals the later one.
  void take_hold(SlotState& state, BatchNumber batch) noexcept TIER_REQUIRES(mutex_) {
    if (!is_open(batch)) return;
    const bool announced = announced_[batch % max_open_batches];
    const bool outranked = is_held(state) && (announced_[state.hold % max_open_batches] != announced
                                                  ? !announced
                                                  : static_cast<std::int32_t>(state.hold - batch) > 0);
    if (!outranked) state.hold = batch;
  }
  void put_free(SlotId slot) noexcept TIER_REQUIRES(mutex_);
  /// A reader that finds the new entry, and then reads the version, sees that the version has changed.
  void set_entry(RowId row, std::uint32_t entry) noexcept TIER_REQUIRES(mutex_) {
    const auto version = map_version_.load(std::memory_order_relaxed);
    map_version_.store(version + 1, std::memory_order_relaxed);
    map_[row].store(entry, std::memory_order_release);  // (2) -> (1)
    map_version_.store(version + 2, std::memory_order_release);
  }

  /// Asks the policy; if it throws, first touch replaces it.
  template <class F>
  auto ask(F&& question) noexcept TIER_REQUIRES(mutex_) {
    try {
      return question(*policy_);
    } catch (...) {
      replace_policy();
    }
    return question(*policy_);
  }
  void replace_policy() noexcept TIER_REQUIRES(mutex_);
  [[nodiscard]] bool admits(RowId row) noexcept TIER_REQUIRES(mutex_);
  void tell_use(RowSession& session, RowId row, SlotId slot) noexcept TIER_REQUIRES(mutex_);

  void reserve(RowSession& session, std::size_t rows) const;
  void begin(RowSession& session) noexcept TIER_EXCLUDES(mutex_);
  [[nodiscard]] RowId review_stretch() const noexcept;
  Step place(RowSession& session, RowId row, std::byte*& address) TIER_REQUIRES(mutex_);
  Step place_missing(RowSession& session, RowId row, std::byte*& address) TIER_REQUIRES(mutex_);
  Step refuse(RowSession& session, RowId row, std::error_code error) TIER_REQUIRES(mutex_);
  Step read_in_place(RowSession& session, RowId row, std::byte*& address) TIER_REQUIRES(mutex_);
  /// True if the session has as many fetches as are moved at once.
  [[nodiscard]] bool is_full(const RowSession& session) const noexcept {
    return session.fetches.size() == chunk_ || (layout_.block_rows > 1 && session.blocks == shape_.buffers);
  }
  [[nodiscard]] SlotId take_slot(RowSession& session, RowId row) TIER_REQUIRES(mutex_);
  [[nodiscard]] SlotId any_slot() noexcept TIER_REQUIRES(mutex_);
  void start_fetch(RowSession& session, RowId row, SlotId slot) TIER_REQUIRES(mutex_);
  void pin(RowSession& session, SlotId slot) noexcept TIER_REQUIRES(mutex_);
  void unpin(SlotId slot, std::uint32_t serial) noexcept TIER_REQUIRES(mutex_);
  void let_go(RowSession& session, std::size_t kept, bool changed) noexcept TIER_REQUIRES(mutex_);

  bool carry_out(RowSession& session) TIER_EXCLUDES(mutex_);
  bool write_victims(RowSession& session) TIER_EXCLUDES(mutex_);
  void list_victims(RowSession& session, std::span<const RowSession::Fetch> victims) TIER_EXCLUDES(mutex_);
  [[nodiscard]] bool may_join(RowId row) const noexcept TIER_REQUIRES(mutex_);
  RowId list_dirty(RowSession& session, RowId row) TIER_EXCLUDES(mutex_);
  void read_rows(RowSession& session) TIER_EXCLUDES(mutex_);
  void undo(RowSession& session, const RowSession::Fetch& fetch) noexcept TIER_REQUIRES(mutex_);
  void forget(RowSession& session, const RowSession::Fetch& fetch) noexcept TIER_REQUIRES(mutex_);
  void write_staged(RowSession& session) noexcept TIER_EXCLUDES(mutex_);
  void transfer(Direction direction, RowSession& session, Cause cause) noexcept TIER_EXCLUDES(mutex_);
  /// Returns the time on the clock of the manager's events.
  [[nodiscard]] std::uint64_t now_ns() const noexcept {
    const auto passed = std::chrono::steady_clock::now() - manager_.began();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(passed).count());
  }
  void settle_written(SlotId slot, std::error_code error) noexcept TIER_REQUIRES(mutex_);
  void free_written_staging() noexcept TIER_EXCLUDES(mutex_);
  void drain_log() noexcept TIER_REQUIRES(mutex_);
  void clear_log() noexcept TIER_REQUIRES(mutex_);
  [[noreturn]] void throw_unreadable(const RowSession& session) const;
  [[noreturn]] void throw_no_room() const TIER_REQUIRES(mutex_);

  Manager& manager_;
  const RowLayout layout_;
  const CacheShape shape_;
  const std::string name_;
  const std::unique_ptr<RowPolicy> own_policy_;
  RowPolicy* policy_ TIER_GUARDED_BY(mutex_);  // own_policy_, or its replacement after a failure
  std::atomic<bool> wants_all_;
  const std::size_t chunk_;       // rows that are fetched at once
  const std::size_t most_moved_;  // most rows in one transfer
  PlacedStorage storage_;
  RowStore home_;
  const bool direct_;
  std::byte* slots_ = nullptr;
  std::atomic<std::uint32_t>* map_ = nullptr;  // written under the lock
  std::atomic<std::uint64_t> map_version_{0};  // written under the lock
  SlotState* states_ = nullptr;                // guarded by the lock
  RowId* log_ = nullptr;                       // guarded by the lock
  std::atomic<std::uint32_t>* dirty_ =
      nullptr;  // one bit for each slot, so dense that updates find it cached
  Epochs epochs_;

  Mutex gate_;  // taken before mutex_: held over a fork, which waits for open sessions to end
  mutable Mutex mutex_;
  CondVar changed_;  // a fetch, a write-back or a session has ended
  std::uint32_t waiters_ TIER_GUARDED_BY(mutex_) = 0;
  SlotId free_ TIER_GUARDED_BY(mutex_) = no_slot;
  SlotId free_staging_ TIER_GUARDED_BY(mutex_) = no_slot;
  SlotId hand_ TIER_GUARDED_BY(mutex_) = 0;
  std::uint64_t pins_ TIER_GUARDED_BY(mutex_) = 0;      // the sum over all slots
  std::uint32_t sessions_ TIER_GUARDED_BY(mutex_) = 0;  // that are open
  std::uint32_t awaited_ TIER_GUARDED_BY(mutex_) = 0;   // open sessions of gathers and updates
  std::uint32_t last_serial_ TIER_GUARDED_BY(mutex_) = 0;
  BatchNumber last_batch_ TIER_GUARDED_BY(mutex_) = 0;
  std::array<BatchNumber, max_open_batches> open_ TIER_GUARDED_BY(mutex_){};
  std::array<bool, max_open_batches> announced_ TIER_GUARDED_BY(mutex_){};  // for open batches
  std::error_code write_error_ TIER_GUARDED_BY(mutex_);                     // the last one
  std::atomic<RowId> logged_{0};                                            // written under the lock
  RowId reviewed_ TIER_GUARDED_BY(mutex_) = 0;  // uses in the log that the policy has been told of
  TableStatistics counters_ TIER_GUARDED_BY(mutex_);
  bool in_fork_child_ = false;  // set in the child before `fork` returns there
};

}  // namespace tier::detail
