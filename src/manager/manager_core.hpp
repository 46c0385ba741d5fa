// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The manager's class. Objects are in objects.cpp, scopes' entry in entry.cpp, room in room.cpp and
///        compaction.cpp, transfers and their publication in transfers.cpp, what a policy may do in actions.cpp, forks in
///        fork.cpp.
#include "announcer.hpp"
#include "companions.hpp"
#include "notes.hpp"
#include "records.hpp"
#include "waiting_line.hpp"

#include <tier/core/mutex.hpp>
#include <tier/core/pool.hpp>
#include <tier/manager/demotion.hpp>
#include <tier/manager/manager.hpp>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tier {

/// Seeded faults for testing the tests (`TIER_BUILD_MUTANTS`); each must be found by the property tests.
enum class Mutant : std::uint8_t {
  None,
  DirtyDecidedAtFetch,
  VersionNotRaised,
  PinIgnored,
  StaleRegionPublished,
  LastBlockShort,
  MoverWithoutVersionCheck,
  WritesNotHeld
};
[[noreturn]] void throw_retired(std::string_view name);

#if defined(TIER_MUTANTS)
Mutant& active_mutant() noexcept;
inline bool mutated(Mutant m) noexcept { return active_mutant() == m; }
#else
constexpr bool mutated(Mutant) noexcept { return false; }
#endif

class ManagerCore final : public Manager, public PolicyContext, private WindowFaults {
 public:
  /// Also the largest block of a window: small enough that a fault on a device does not wait for many other bytes.
  static constexpr std::size_t huge_page = std::size_t{2} << 20;
  ManagerCore(std::vector<std::unique_ptr<Tier>> tiers, std::unique_ptr<Policy> policy,
              ManagerOptions options);
  ~ManagerCore() override;

  // Manager.
  ObjectHandle create(Bytes size, std::size_t alignment, std::string_view name) override;
  ObjectHandle create_empty(Bytes size, std::size_t alignment, std::string_view name) override;
  PlacedStorage allocate_fixed(Bytes size, std::size_t alignment, TierIndex tier,
                               std::string_view name) override;
  ObjectHandle create_window(Bytes size, std::size_t alignment, std::string_view name) override;
  ObjectHandle reserve_window(Bytes most, std::size_t alignment, std::string_view name) override;
  void grow(ObjectRef object, Bytes size) override;
  void destroy(Object& object) noexcept override;
  void enter(std::span<Operand> batch, const BatchContext& context) override;
  void hold(Operand& operand) noexcept override;
  void let_go(Operand& operand) noexcept override;
  void release_hold(Block& b) noexcept;
  void locate(std::span<const Operand> batch, std::span<TierIndex> tiers) const noexcept override;
  void kernel_begin(const BatchContext& context, std::span<const Operand> batch) override;
  void kernel_end(std::uint64_t scope, std::uint64_t duration_ns) noexcept override;
  void hint(Hint hint, ObjectRef object, std::uint64_t scope) override;
  void hint(Hint hint, BlockRun blocks, std::uint64_t scope) override;
  void hint_later(Hint hint, ObjectRef object, std::uint64_t scope) noexcept override;
  void hint_later(Hint hint, BlockRun blocks, std::uint64_t scope) noexcept override;
  Outcome prefetch(ObjectRef object) noexcept override;
  Outcome prefetch(BlockId block) noexcept override;
  void retire(ObjectRef object) noexcept override;
  void retire(BlockId block) noexcept override;
  void revive(ObjectRef object) override;
  void revive(BlockId block) override;
  void migrate(std::span<const BlockId> blocks, TierIndex tier) override;
  void end_of_step() override;
  void compact() override;
  void quiesce() noexcept override;
  std::vector<std::string> close() noexcept override;
  void before_fork() noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;
  void after_fork(bool in_child) noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;
  void add_companion(const std::shared_ptr<Companion>& companion) override { companions_.add(companion); }
  void add_observer(Observer& observer) override;
  void remove_observer(Observer& observer) noexcept override;
  void set_thread_observer(std::shared_ptr<ThreadObserver> observer) override;
  std::chrono::steady_clock::time_point began() const noexcept override { return timeline_.began(); }
  void count_moved(TierIndex from, TierIndex to, Cause cause, std::uint64_t bytes,
                   std::uint64_t transfers) noexcept override;
  void count_stall(std::uint64_t ns) noexcept override;
  std::size_t tier_count() const noexcept override { return tiers_.size(); }
  Tier& tier(TierIndex tier) noexcept override { return *tiers_[tier].tier; }
  CopyEngine& copies() noexcept override { return engine_; }
  Statistics statistics() const override;
  std::vector<ObjectStatistics> object_statistics() const override;
  void check_invariants() const override;

  // PolicyContext: called by the policy, under the lock.
  TierFacts tier_facts(TierIndex tier) const noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;
  std::optional<BlockFacts> block_facts(BlockId id) const noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;
  TierIndex slower(TierIndex tier) const noexcept override;
  bool in_background(TierIndex from, TierIndex to) const noexcept override;
  Outcome copy(BlockId id, TierIndex tier, When when) noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;
  Outcome fetch(BlockId id, TierIndex tier, bool force) noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;
  Outcome make_primary(BlockId id, TierIndex tier) noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;
  Outcome drop(BlockId id, TierIndex tier) noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;
  Outcome evict(BlockId id, TierIndex to) noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;
  void rerank(BlockId id) noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;

  // Called by blocks and transfers.
  void used(const Block& b, Use use, bool outside, bool locked) noexcept TIER_NO_THREAD_SAFETY_ANALYSIS;
  void last_unpinned(BlockId id) noexcept;
  void transfer_ended(Transfer& transfer, std::error_code error, bool cancelled) noexcept;
  void fetch_now(BlockId id) noexcept;
  std::error_code fill_holes(std::byte* begin, std::size_t size, const PagePolicy* policy) const noexcept {
    return windows_->fill_holes(begin, size, policy);
  }
  static const std::byte* window_address_of(const Block& b) noexcept { return b.record->window_address; }
  /// True if a tagged address is behind the end of its block: the last block of a window need not fill its unit.
  static bool is_behind(const Block& b, const std::byte* address) noexcept {
    return address >= b.record->window_address + b.size;
  }
  static const Object* object_in(const Block& b) noexcept { return b.record->object; }

 private:
  friend class Entry;

  struct TierState {
    std::unique_ptr<Tier> tier;
    RegionHeap heap;
    RankedBlocks ranked{};     // blocks whose primary is here and may move; in the slowest tier only garbage
    RegionList secondaries{};  // further copies, droppable
    std::vector<bool> bare{};  // by page: free, and absent
    Region* spare = nullptr;   // kept free, so that blocks can go aside
    Bytes to_back{};           // disk space that should be there, by the last look at what lives
    std::uint64_t high_water = 0;
    std::uint64_t spaceless = 0;  // bytes of regions whose space must still be asked for
    bool below_watermark = false;
    std::uint64_t cached = 0, cached_regions = 0;  // bytes and number of the regions of free windows
    std::optional<Range> scattered{};  // the last request that failed although as much was free, in pieces
    std::uint64_t in_the_way = 0;      // bytes in the way of that room, fewer after each step
    BlockId reached = 0;               // block reached by the search for blocks that could slide

    /// Without the spare and cached windows.
    [[nodiscard]] Bytes used() const noexcept {
      const auto used = heap.used() - Bytes{cached};
      return spare == nullptr ? used : used - Bytes{heap.size(spare->slot)};
    }
    [[nodiscard]] std::size_t regions() const noexcept {
      return heap.live_regions() - cached_regions - (spare != nullptr ? 1 : 0);
    }
  };
  // Regions and blocks (objects.cpp).
  bool moves_pages(TierIndex t) const noexcept TIER_REQUIRES(mutex_);
  std::size_t preferred_alignment(TierIndex t, std::uint64_t size, std::size_t alignment) const noexcept
      TIER_REQUIRES(mutex_);
  Region* allocate_region(TierIndex t, std::uint64_t size, std::size_t alignment,
                          std::error_code& cause) noexcept TIER_REQUIRES(mutex_);
  Region* allocate_region_at(TierIndex t, std::uint64_t size, std::size_t alignment,
                             std::error_code& cause) noexcept TIER_REQUIRES(mutex_);
  Region* region_at(TierIndex t, RegionHeap::Slot slot, std::error_code& cause) noexcept
      TIER_REQUIRES(mutex_);
  Region& describe(TierIndex t, RegionHeap::Slot slot) noexcept TIER_REQUIRES(mutex_);
  void tell_given_out(const Region& region) noexcept TIER_REQUIRES(mutex_);
  std::error_code claim(Region& region) noexcept TIER_REQUIRES(mutex_);
  void note_space(Region& region) noexcept TIER_REQUIRES(mutex_);
  void note_high_water(TierState& state) noexcept TIER_REQUIRES(mutex_);
  bool take_space(Region*& region, std::error_code& cause, MutexLock& lock) TIER_REQUIRES(mutex_);
  void free_region(Region* region) noexcept TIER_REQUIRES(mutex_);
  void stop_reading(Region* region) noexcept TIER_REQUIRES(mutex_);
  void allow_access(const Region& region) noexcept TIER_REQUIRES(mutex_);
  RegionHeap::Slot give_back(Region* region) noexcept TIER_REQUIRES(mutex_);
  Region* unread_copy(Block& b, TierIndex t) noexcept TIER_REQUIRES(mutex_);
  void condemn_region(Region* region) noexcept TIER_REQUIRES(mutex_);
  void attach_secondary(Block& b, Region* region, std::uint64_t version) noexcept TIER_REQUIRES(mutex_);
  void detach(Block& b, Region* region) noexcept TIER_REQUIRES(mutex_);
  void set_primary(Block& b, Region* region, const std::byte* landed = nullptr) noexcept
      TIER_REQUIRES(mutex_);
  Block& new_block(std::uint64_t size, std::size_t alignment) TIER_REQUIRES(mutex_);
  void recycle(Block& b) noexcept TIER_REQUIRES(mutex_);
  void free_contents(Block& b) noexcept TIER_REQUIRES(mutex_);
  void release_if_dead(Block& b) noexcept TIER_REQUIRES(mutex_);
  void mark_dead(Block& b) noexcept TIER_REQUIRES(mutex_);
  /// True if blocks can be out of the CPU's reach, so that room must be left for exchanging them.
  bool keeps_room() const noexcept TIER_REQUIRES(mutex_) { return out_of_reach_ || kept_for_faults_ > 0; }
  bool leaves_room_for_faults(std::uint64_t sum, std::uint64_t largest, std::error_code& cause) noexcept
      TIER_REQUIRES(mutex_);
  bool leaves_room(std::uint64_t sum, std::uint64_t largest, std::error_code& cause) noexcept
      TIER_REQUIRES(mutex_);
  bool fits_fastest(std::uint64_t sum, std::uint64_t largest) const noexcept TIER_REQUIRES(mutex_);
  bool keep_nothing() noexcept TIER_REQUIRES(mutex_);
  bool may_come(std::uint64_t size) const noexcept TIER_REQUIRES(mutex_);
  void note_size(const Block& b) noexcept TIER_REQUIRES(mutex_);
  bool fits_beside_what_lives(std::uint64_t sum, std::uint64_t largest, std::error_code& cause) noexcept
      TIER_REQUIRES(mutex_);
  bool leave_room_for_faults(std::uint64_t sum, std::uint64_t largest, std::string_view name, MutexLock& lock)
      TIER_REQUIRES(mutex_);
  bool back_what_lives(MutexLock& lock) TIER_REQUIRES(mutex_);
  void back_spare(TierIndex t, MutexLock& lock) TIER_REQUIRES(mutex_);
  void leave_fast_room_for_faults(const Block& b, std::string_view name) const TIER_REQUIRES(mutex_);
  bool fits_beside_placed() noexcept TIER_REQUIRES(mutex_);
  void forget_largest() noexcept TIER_REQUIRES(mutex_);
  /// Counts the bytes that a block will take as living, until it takes them.
  struct Promise {
    Promise(ManagerCore& c, std::uint64_t size) TIER_NO_THREAD_SAFETY_ANALYSIS
        : core{c},
          bytes{round_up(size, c.granule_)} {
      core.promised_ += bytes;
    }
    ~Promise() TIER_NO_THREAD_SAFETY_ANALYSIS { core.promised_ -= bytes; }
    Promise(const Promise&) = delete;
    Promise& operator=(const Promise&) = delete;

    ManagerCore& core;
    std::uint64_t bytes;
  };
  /// Counts bytes that will be placed in a tier, until they are.
  struct PromiseToStay {
    PromiseToStay(ManagerCore& c, TierIndex t, std::uint64_t size) TIER_NO_THREAD_SAFETY_ANALYSIS
        : core{c},
          tier{t},
          bytes{round_up(size, c.granule_)} {
      core.placed_[tier] += bytes;
    }
    ~PromiseToStay() TIER_NO_THREAD_SAFETY_ANALYSIS { core.placed_[tier] -= bytes; }
    PromiseToStay(const PromiseToStay&) = delete;
    PromiseToStay& operator=(const PromiseToStay&) = delete;

    ManagerCore& core;
    TierIndex tier;
    std::uint64_t bytes;
  };
  Placement ask_where(const Block& b, std::string_view name) TIER_REQUIRES(mutex_);
  Region* first_place(Block& b, std::string_view name, MutexLock& lock) TIER_REQUIRES(mutex_);
  bool room_may_come(MutexLock& lock) TIER_REQUIRES(mutex_);
  Object& new_object(Block& b, std::size_t offset, std::size_t size, std::string_view name)
      TIER_REQUIRES(mutex_);
  Object* create_in_group(std::size_t size, std::size_t alignment, std::string_view name, MutexLock& lock)
      TIER_REQUIRES(mutex_);
  SmallObjects::Place group_with_room(std::size_t size, std::size_t alignment, std::string_view name,
                                      MutexLock& lock) TIER_REQUIRES(mutex_);
  void leave_part(Object& object) noexcept TIER_REQUIRES(mutex_);
  void forget_part(Group& g) noexcept TIER_REQUIRES(mutex_);
  void forget_group(Group& g) noexcept TIER_REQUIRES(mutex_);
  void retire_part(Object& object) noexcept TIER_REQUIRES(mutex_);
  void keep_while_pinned(Block& b) noexcept TIER_REQUIRES(mutex_);
  void free_parts(Block& b) noexcept TIER_REQUIRES(mutex_);
  void reclaim_if_full() noexcept TIER_REQUIRES(mutex_);
  std::size_t reclaim_garbage() noexcept TIER_REQUIRES(mutex_);
  std::size_t block_alignment(std::size_t size, std::size_t alignment) const noexcept;
  std::uint64_t copied_size(const Block& b, TierIndex from, TierIndex to) const noexcept;

  // State (objects.cpp).
  void refresh(Block& b) noexcept TIER_REQUIRES(mutex_);
  void close_door(WaitingLine::Waiter& waiter) noexcept TIER_REQUIRES(mutex_);
  void open_door(WaitingLine::Waiter& waiter) noexcept TIER_REQUIRES(mutex_);
  std::uint64_t rank_now(const BlockRecord& record) const noexcept TIER_REQUIRES(mutex_);
  void rank(Block& b) noexcept TIER_REQUIRES(mutex_);
  void unrank(Block& b) noexcept TIER_REQUIRES(mutex_);
  void become_garbage(Block& b) noexcept TIER_REQUIRES(mutex_);
  void clear_garbage(Block& b) noexcept TIER_REQUIRES(mutex_);
  bool dirty(const Block& b) const noexcept TIER_REQUIRES(mutex_);
  BlockFacts facts(const Block& b) const noexcept TIER_REQUIRES(mutex_);
  std::string_view name_of(const Block& b) const noexcept TIER_REQUIRES(mutex_);
  std::string described(const Block& b) const TIER_REQUIRES(mutex_);
  static bool start_moving(Block& b, std::uint32_t own_pins = 0) noexcept;
  bool addressable(TierIndex t) const noexcept { return tiers_[t].tier->model().addressable; }
  void forget(Object& object) noexcept TIER_REQUIRES(mutex_);
  void abandon(Block& b) noexcept TIER_REQUIRES(mutex_);
  Outcome prefetch_block(Block& b, ObjectId object) noexcept TIER_REQUIRES(mutex_);
  void retire_block(Block& b) noexcept TIER_REQUIRES(mutex_);
  template <class F>
  static void for_each_block(const Object& object, F&& f) {
    if (object.blocks.empty()) f(*object.block);
    for (auto* b : object.blocks) f(*b);
  }

  // Windows (windows.cpp).
  std::byte* home(const Region& region) const noexcept TIER_REQUIRES(mutex_);
  bool reachable(const Block& b, TierIndex t) const noexcept TIER_REQUIRES(mutex_);
  bool shows_in(const Block& b, TierIndex t) const noexcept TIER_REQUIRES(mutex_);
  bool lends(const Block& b) const noexcept TIER_REQUIRES(mutex_);
  void show(Block& b, const std::byte* landed = nullptr) noexcept TIER_REQUIRES(mutex_);
  bool stays_put(const Block& b) const noexcept;
  void stay(Block& b, Region& region) noexcept TIER_REQUIRES(mutex_);
  void make_bare(Region& region) noexcept TIER_REQUIRES(mutex_);
  bool take_bare(TierIndex t, std::uint64_t offset, std::uint64_t size) noexcept TIER_REQUIRES(mutex_);
  void give_back_bare(const Region& region) noexcept TIER_REQUIRES(mutex_);
  std::byte* take_landing(const Block& b, const Region& to, TransferKind kind) noexcept TIER_REQUIRES(mutex_);
  bool is_read(const Block& b) const noexcept TIER_REQUIRES(mutex_);
  bool hide(Block& b, Region& region) noexcept TIER_REQUIRES(mutex_);
  bool hold_writes(Block& b) noexcept TIER_REQUIRES(mutex_);
  void hold_writes(std::span<const BlockId> ids, TierIndex to) noexcept TIER_REQUIRES(mutex_);
  void let_write(Block& b) noexcept TIER_REQUIRES(mutex_);
  bool on_fault(WindowFault& fault, bool may_wait) noexcept override;
  enum class Served : std::uint8_t { Yes, Again, WouldWait };
  Served serve(WindowFault& fault, bool may_wait) noexcept;
  void bring(std::span<Operand> batch, const BatchContext& context) noexcept;
  bool has_room_for(std::span<const Operand> wanted) noexcept;
  void best_first(std::span<Operand> wanted) noexcept;
  bool bring_all(std::span<Operand> few, const BatchContext& context) noexcept;
  bool bring_together(std::span<Operand> wanted, const BatchContext& context) noexcept;
  void enter_all(std::span<Operand> batch, const BatchContext& context);
  void enter_with_advice(std::span<Operand> batch, const BatchContext& context);
  /// \param whole  if false, existing contents stay
  void revive(BlockId block, bool whole);
  void revive_overwritten(std::span<const Operand> advised);
  void let_through(std::byte* address) noexcept;
  void fill_hole(const Block& b, std::byte* address) noexcept;
  void wait_for_room(WindowFault& fault, std::uint64_t began, const char* why) noexcept;
  std::uint64_t ended_blocks() const noexcept override { return ended_.load(std::memory_order_acquire); }
  bool in_a_tier(const std::byte* address) const noexcept TIER_REQUIRES(mutex_);
  static bool is_dead(const Block* b) noexcept;
  static bool is_ours(const Block* b) noexcept;
  void refuse(const WindowFault& fault, const char* why) noexcept;
  bool has_come(const WindowFault& fault) noexcept TIER_REQUIRES(mutex_);
  void die_of(const WindowFault& fault, const Block* b) const noexcept TIER_REQUIRES(mutex_);
  WindowSpace& windows() TIER_REQUIRES(mutex_);
  [[nodiscard]] static std::size_t largest_block(Bytes asked, Bytes fastest);
  std::unique_ptr<WindowSpace> served_windows() TIER_REQUIRES(mutex_);
  std::unique_ptr<WindowSpace> paged_windows() const TIER_REQUIRES(mutex_);
  void take_space(const ObjectWindow& window, std::size_t begin, std::size_t end, MutexLock& lock)
      TIER_REQUIRES(mutex_);
  ObjectHandle make_window(std::size_t size, std::size_t most, std::size_t alignment, std::string_view name);
  Block& new_block_at(ObjectWindow& window, std::size_t offset, std::size_t size) TIER_REQUIRES(mutex_);
  std::vector<Block*> new_blocks(ObjectWindow& window, std::size_t begin, std::size_t end,
                                 std::string_view name, MutexLock& lock) TIER_REQUIRES(mutex_);
  void discard(std::span<Block* const> blocks, MutexLock& lock) noexcept TIER_REQUIRES(mutex_);
  void leave_window(Block& b) noexcept TIER_REQUIRES(mutex_);
  void let_go(ObjectWindow& window) noexcept TIER_REQUIRES(mutex_);
  bool take_home(Region& region, std::byte* place, std::size_t size) noexcept TIER_REQUIRES(mutex_);

  // Windows of freed objects (cached_windows.cpp).
  bool cache_pages(Block& b) noexcept TIER_REQUIRES(mutex_);
  bool cache(ObjectWindow& window) noexcept TIER_REQUIRES(mutex_);
  ObjectWindow* cached_window(std::size_t whole, std::size_t end, std::size_t alignment) noexcept
      TIER_REQUIRES(mutex_);
  Region* cached_region(const Block& b, TierIndex t) noexcept TIER_REQUIRES(mutex_);
  void uncache(Region& region) noexcept TIER_REQUIRES(mutex_);
  void drop_cached_pages(ObjectWindow& window) noexcept TIER_REQUIRES(mutex_);
  void give_up(ObjectWindow& window) noexcept TIER_REQUIRES(mutex_);
  bool drop_cached_windows() noexcept TIER_REQUIRES(mutex_);
  Transfer* begin_migration(BlockId id, TierIndex t, MutexLock& lock) TIER_REQUIRES(mutex_);

  // Transfers (transfers.cpp).
  Transfer* begin_transfer(Block& b, TransferKind kind, Region* to, Cause cause) noexcept
      TIER_REQUIRES(mutex_);
  void publish(Transfer& t, Block& b, bool as_primary) noexcept TIER_REQUIRES(mutex_);
  static bool takes_over(const Transfer& t, const Block& b) noexcept;
  void orphan(Transfer& t) noexcept TIER_REQUIRES(mutex_);
  void end_slide_of(const Block& b) noexcept TIER_REQUIRES(mutex_);
  void deliver(Transfer& t, MutexLock& lock) noexcept TIER_REQUIRES(mutex_);
  void unreference(Transfer& t) noexcept TIER_REQUIRES(mutex_);
  void discard_target(Transfer& t, std::error_code error) noexcept TIER_REQUIRES(mutex_);
  bool relocate(Block& b, Region* to, Cause cause, MutexLock& lock) TIER_REQUIRES(mutex_);
  Outcome change_primary(Block& b, TierIndex t, Cause cause) noexcept TIER_REQUIRES(mutex_);
  bool settle_in(Block& b, TierIndex t, Cause cause) noexcept TIER_REQUIRES(mutex_);
  std::optional<Outcome> why_not_fetch(const Block& b, TierIndex to) const noexcept TIER_REQUIRES(mutex_);
  Outcome begin_fetch(Block& b, TierIndex to, bool force, Cause cause) noexcept TIER_REQUIRES(mutex_);
  Outcome fetch_later(Block& b) noexcept TIER_REQUIRES(mutex_);
  void wait_for_end(Transfer& t, MutexLock& lock) TIER_REQUIRES(mutex_);
  void hurry(bool all, MutexLock& lock) TIER_REQUIRES(mutex_);

  // Room (room.cpp, compaction.cpp).
  Region* make_room(TierIndex t, const Range& range, BlockId for_block, RoomReport& report, MutexLock& lock)
      TIER_REQUIRES(mutex_);
  Region* make_room_for(const Block& b, TierIndex t, RoomReport& report, MutexLock& lock)
      TIER_REQUIRES(mutex_);
  enum class Packing { Preferred, Tight };
  Region* try_to_make_room(TierIndex t, const Range& range, BlockId for_block, Packing packing,
                           RoomReport& report, MutexLock& lock) TIER_REQUIRES(mutex_);
  Region* allocate_region_in(TierIndex t, const Range& range, bool& behind, std::error_code& cause) noexcept
      TIER_REQUIRES(mutex_);
  [[nodiscard]] std::uint64_t room_for_faults(TierIndex t) const noexcept TIER_REQUIRES(mutex_);
  [[nodiscard]] bool keeps_clear_of_faults(const Block& b) const noexcept TIER_REQUIRES(mutex_);
  [[nodiscard]] Range range_for(const Block& b, TierIndex t) const noexcept TIER_REQUIRES(mutex_);
  [[nodiscard]] bool is_passing(const Block& b) const noexcept TIER_REQUIRES(mutex_);
  bool drop_a_secondary(TierIndex t) noexcept TIER_REQUIRES(mutex_);
  void note_memory(Object& object) noexcept TIER_REQUIRES(mutex_);
  [[nodiscard]] Bytes metadata() const noexcept TIER_REQUIRES(mutex_);
  void count_clean_eviction(Block& b) noexcept TIER_REQUIRES(mutex_);
  std::optional<EvictionRun> propose(TierIndex t, const Range& range, BlockId for_block, bool background,
                                     std::vector<TierIndex>& to, bool& forced) TIER_REQUIRES(mutex_);
  bool grow(EvictionRun& w, TierIndex t, RegionHeap::Slot seed, const Range& range) const
      TIER_REQUIRES(mutex_);
  std::optional<EvictionRun> scan(TierIndex t, const Range& range) const TIER_REQUIRES(mutex_);
  std::optional<EvictionRun> scan(TierIndex t, const Range& range, RegionHeap::Slot first, std::size_t slots,
                                  bool background) const TIER_REQUIRES(mutex_);
  void describe(EvictionRun& w, TierIndex t) const TIER_REQUIRES(mutex_);
  bool may_leave(const Region* region) const noexcept TIER_REQUIRES(mutex_);
  bool may_slide(const Region* region) const noexcept TIER_REQUIRES(mutex_);
  enum class Emptied { Begun, NoRoomBelow, Changed };
  Emptied begin_emptying(Room& room, const EvictionRun& run, std::span<const TierIndex> to, bool inside,
                         const RoomBelow& below, std::vector<CopyTask*>& transfers, TierIndex& lacking,
                         std::error_code& cause) TIER_REQUIRES(mutex_);
  bool gives_way(TierIndex t, const Block& b) noexcept TIER_REQUIRES(mutex_);
  TierOrder order_below(const Block& b) const noexcept TIER_REQUIRES(mutex_);
  Region* destination(Block& b, TierIndex wanted, TierIndex source, bool inside, const RoomBelow& below,
                      TierIndex& lacking, std::error_code& cause) noexcept TIER_REQUIRES(mutex_);
  std::size_t room_below(const EvictionRun& run, TierIndex t, std::size_t count, BlockId for_block,
                         RoomReport& report, MutexLock& lock) TIER_REQUIRES(mutex_);
  Region* finish_room(Room& room, std::error_code& cause) noexcept TIER_REQUIRES(mutex_);
  void background_room_ended(Room& room) noexcept TIER_REQUIRES(mutex_);
  void revoke(Transfer& t, MutexLock& lock) TIER_REQUIRES(mutex_);
  bool revoke_unawaited(TierIndex t, MutexLock& lock) TIER_REQUIRES(mutex_);
  RoomReport survey() noexcept TIER_REQUIRES(mutex_);
  bool keep_spares(std::error_code& cause) noexcept TIER_REQUIRES(mutex_);
  void give_up_spares() noexcept TIER_REQUIRES(mutex_);
  bool lacks_spare(const TierState& state) const noexcept TIER_REQUIRES(mutex_);
  Region* room_aside(const Block& b, TierIndex t) noexcept TIER_REQUIRES(mutex_);
  Region* region_in(TierIndex t, RegionHeap::Slot hole, const Range& range) TIER_REQUIRES(mutex_);
  bool compact_tier(TierIndex t, Packing packing, MutexLock& lock) TIER_REQUIRES(mutex_);
  RegionHeap::Slot resume(TierIndex t, BlockId reached) const noexcept TIER_REQUIRES(mutex_);
  bool slide(TierIndex t, RegionHeap::Slot hole, BlockId before, Packing packing, MutexLock& lock)
      TIER_REQUIRES(mutex_);
  bool slide_over(Block& b, RegionHeap::Slot hole, std::uint64_t target, std::size_t alignment,
                  MutexLock& lock) TIER_REQUIRES(mutex_);
  void take_place(Block& b, Region* held, std::size_t alignment) noexcept TIER_REQUIRES(mutex_);
  void compact_in_background() noexcept TIER_REQUIRES(mutex_);
  bool begin_sliding(TierIndex t, const Range& range) noexcept TIER_REQUIRES(mutex_);
  bool slide_out_of(const EvictionRun& run, TierIndex t, RegionHeap::Slot first, std::size_t slots)
      TIER_REQUIRES(mutex_);
  bool stop_sliding(TierIndex t, const Range& range, MutexLock& lock) TIER_REQUIRES(mutex_);
  const TierState& largest_addressable() const noexcept TIER_REQUIRES(mutex_);
  enum class Free : bool { IsLacking, IsKept };
  [[noreturn]] void throw_out_of_memory(std::uint64_t size, std::string_view what, std::error_code cause,
                                        Free free = Free::IsLacking) const TIER_REQUIRES(mutex_);
  [[noreturn]] void throw_unreadable(const Block& b, std::error_code error) const TIER_REQUIRES(mutex_);
  void check_watermarks() noexcept TIER_REQUIRES(mutex_);

  // Forks (fork.cpp).
  void enter_in_child(std::span<Operand> batch);
  bool copied_by_fork(const Block& b) const noexcept TIER_NO_THREAD_SAFETY_ANALYSIS;
  void leave_to_child(const Block& b) noexcept;
  void refuse_in_child(std::string_view what) const;
  void check_tier(TierIndex t) const;

  // Waiting and telling (manager.cpp).
  void wait(MutexLock& lock) TIER_REQUIRES(mutex_);
  void count_wait(const BatchContext& context, std::uint64_t began, StallCause cause) noexcept
      TIER_REQUIRES(mutex_);
  /// Does work that must not happen under the lock. The analysis takes the lock for held: read values again after it.
  template <class F>
  void without_lock(MutexLock& lock, F&& work) TIER_NO_THREAD_SAFETY_ANALYSIS {
    struct Relock {
      MutexLock& lock;
      ~Relock() TIER_NO_THREAD_SAFETY_ANALYSIS { lock.lock(); }  // also if `work` throws
    };
    lock.unlock();
    const Relock relock{lock};
    work();
  }
  void leave_locked(Block& b) noexcept TIER_REQUIRES(mutex_);
  std::shared_ptr<Manager> needless_keeper() noexcept TIER_REQUIRES(mutex_);
  void report_holders(std::string_view waiting, std::uint64_t size, MutexLock& lock) noexcept
      TIER_REQUIRES(mutex_);
  void charge_in_place(const Operand& op, TierIndex t) noexcept;
  void changed() noexcept TIER_REQUIRES(mutex_);
  void drain_notes() noexcept TIER_REQUIRES(mutex_);
  void drain_own_notes() noexcept TIER_REQUIRES(mutex_);
  void carry_out(const Note& note) noexcept TIER_REQUIRES(mutex_);
  void carry_out_hint(const Note& note) noexcept TIER_REQUIRES(mutex_);
  void apply_hint(Hint hint, Block& b, std::uint64_t scope, ObjectId object) noexcept TIER_REQUIRES(mutex_);
  void apply_hint(Hint hint, BlockRun blocks, std::uint64_t scope) noexcept TIER_REQUIRES(mutex_);
  Outcome note_brought(BlockId id, Outcome outcome) noexcept TIER_REQUIRES(mutex_);
  void count_hint(bool present, std::optional<Outcome> brought) noexcept TIER_REQUIRES(mutex_);
  void hint_later(const Note& note) noexcept;
  Block* find(BlockId id) const noexcept TIER_REQUIRES(mutex_);
  void add_moved(TierIndex from, TierIndex to, Cause cause, std::uint64_t bytes,
                 std::uint64_t transfers) noexcept TIER_REQUIRES(mutex_);
  void idle_if_so() noexcept TIER_REQUIRES(mutex_);
  void tell_object(const Object& object, ObjectChange change, std::size_t alignment = 1) noexcept
      TIER_REQUIRES(mutex_);
  static ObjectEvent event_of(const Object& object, ObjectChange change, std::size_t alignment) noexcept;
  /// Reports a failure of the policy after the lock is released: this is made before the lock is taken.
  struct TellsFailure {
    explicit TellsFailure(const ManagerCore& core) noexcept : failure{core.policy_failure_} {}
    ~TellsFailure() { failure.tell(); }
    TellsFailure(const TellsFailure&) = delete;
    TellsFailure& operator=(const TellsFailure&) = delete;

    const PolicyFailure& failure;
  };
  void wants_changed() noexcept TIER_REQUIRES(mutex_);

  /// Carries out notes. Uses told together share a time, because reading the clock costs more than telling one use.
  class CarryOut {
   public:
    explicit CarryOut(ManagerCore& core) noexcept : core_{core} {}
    void operator()(const Note& note) noexcept TIER_NO_THREAD_SAFETY_ANALYSIS {
      if (note.kind == Note::Kind::Use && !std::exchange(timed_, true)) core_.announcer_.note_time();
      core_.carry_out(note);
    }

   private:
    ManagerCore& core_;
    bool timed_ = false;
  };

  /// A call that may release the lock halfway, while it holds regions and perhaps a block without a place.
  class Inside {
   public:
    explicit Inside(ManagerCore& core) noexcept TIER_NO_THREAD_SAFETY_ANALYSIS : core_{core} {
      ++core_.inside_;
      for (auto& refusals : core_.refusals_) refusals.forget();
    }
    ~Inside() TIER_NO_THREAD_SAFETY_ANALYSIS {
      --core_.inside_;
      core_.compact_in_background();
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    ManagerCore& core_;
  };

  mutable Mutex mutex_;
  CondVar changed_;
  unsigned waiting_ TIER_GUARDED_BY(mutex_) = 0;
  std::vector<TierState> tiers_;  // the vector is fixed; heaps and lists are guarded by the mutex
  std::array<SpaceRefusals, max_tiers> refusals_;  // by tier
  std::vector<TierModel> models_;
  ManagerOptions options_;
  Timeline timeline_;
  PolicyFailure policy_failure_;
  Announcer announcer_ TIER_GUARDED_BY(mutex_);
  std::size_t io_alignment_ = 1;  // the largest of all tiers
  std::size_t granule_ = 64;
  std::size_t window_block_ = 0;  // the largest block of a window
  bool out_of_reach_ = false;     // the CPU cannot use some tier

  Pool<Block> blocks_ TIER_GUARDED_BY(mutex_);
  Pool<BlockRecord> records_ TIER_GUARDED_BY(mutex_);
  Pool<Region> regions_ TIER_GUARDED_BY(mutex_);
  Pool<Object> objects_pool_ TIER_GUARDED_BY(mutex_);
  boost::intrusive::list<Object> objects_ TIER_GUARDED_BY(mutex_);
  std::unordered_map<BlockId, Block*> by_id_ TIER_GUARDED_BY(mutex_);
  SmallObjects small_objects_ TIER_GUARDED_BY(mutex_);
  std::uint64_t next_block_ TIER_GUARDED_BY(mutex_) = 1;
  std::uint64_t next_object_ TIER_GUARDED_BY(mutex_) = 1;
  std::shared_ptr<Manager> keeper_ TIER_GUARDED_BY(mutex_);  // set while scopes are open on destroyed objects
  std::size_t kept_ TIER_GUARDED_BY(mutex_) = 0;
  std::size_t garbage_ TIER_GUARDED_BY(mutex_) = 0;
  std::uint64_t living_ TIER_GUARDED_BY(mutex_) = 0;    // bytes of regions of blocks that have a primary
  std::uint64_t promised_ TIER_GUARDED_BY(mutex_) = 0;  // bytes for blocks that will live
  std::uint64_t largest_ TIER_GUARDED_BY(mutex_) = 0;   // no block that lives and may move has more bytes
  bool mixed_ TIER_GUARDED_BY(mutex_) = false;          // there are, or were, blocks of more than one size
  std::uint64_t kept_for_faults_ TIER_GUARDED_BY(mutex_) = 0;  // in all tiers together
  unsigned compacting_ TIER_GUARDED_BY(mutex_) = 0;            // threads that compact, and use the spares
  std::array<std::uint64_t, max_tiers> placed_ TIER_GUARDED_BY(mutex_){};  // bytes that never move
  TransferList in_flight_ TIER_GUARDED_BY(mutex_);                         // in the order in which they began
  std::uint64_t moving_since_ns_ TIER_GUARDED_BY(mutex_) = 0;              // if any transfers are in flight
  std::size_t pending_rooms_ TIER_GUARDED_BY(mutex_) = 0;
  Transfer* sliding_ TIER_GUARDED_BY(mutex_) = nullptr;  // the one background slide within a tier
  std::size_t inside_ TIER_GUARDED_BY(mutex_) = 0;       // see `Inside`
  bool closed_ TIER_GUARDED_BY(mutex_) = false;
  bool choosing_ TIER_GUARDED_BY(mutex_) = false;  // the policy looks at proposals: its actions are refused

  WaitingLine line_ TIER_GUARDED_BY(mutex_);  // of root scopes

  Statistics counts_ TIER_GUARDED_BY(mutex_);
  /// The block that the policy is being told a hint on, and the result if the policy wanted it elsewhere.
  struct Hinted {
    BlockId block = 0;
    std::optional<Outcome> brought;
  };
  Hinted hinted_ TIER_GUARDED_BY(mutex_){};
  std::array<std::array<std::array<std::pair<std::uint64_t, std::uint64_t>, cause_count>, max_tiers>,
             max_tiers>
      moved_ TIER_GUARDED_BY(mutex_){};
  std::size_t beside_objects_ TIER_GUARDED_BY(mutex_) = 0;  // bytes: the sum of all `Object::memory`
  std::size_t window_count_ TIER_GUARDED_BY(mutex_) = 0;
  const std::shared_ptr<Notes> notes_ = Notes::make();
  std::atomic<std::uint64_t> uses_dropped_{0}, hints_dropped_{0};
  std::unique_ptr<Landings> landings_ TIER_GUARDED_BY(mutex_);  // from the first window on
  std::atomic<std::uint64_t> ended_{0};                         // blocks whose contents are gone
  boost::intrusive::list<ObjectWindow> cached_windows_ TIER_GUARDED_BY(mutex_);  // the latest first
  // Windows of which some blocks are gone and cached, and others are still used or held.
  boost::intrusive::list<ObjectWindow> partly_cached_ TIER_GUARDED_BY(mutex_);
  std::unique_ptr<WindowSpace> windows_;  // from the first window on; its threads call us
  Companions companions_;                 // told before the lock is taken
  bool in_fork_child_ = false;            // set before the child's first own instruction
  CopyEngine engine_;                     // last: its movers end before the members that they use
};

}  // namespace tier
