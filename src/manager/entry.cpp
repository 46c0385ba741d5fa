// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  A scope's entry: all operands or none.
#include "manager_core.hpp"

#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <array>
#include <boost/container/small_vector.hpp>
#include <cstdio>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace tier {

constexpr int gathers = 8;  // each one that comes to nothing was another thread's progress

/// Enters one batch. Takes pins as it goes, and gives all of them back unless it completes.
///
/// A step looks at every operand that has not entered: it enters, joins a fetch under way, or needs room. When all
/// that need room have it, their fetches begin together. Whenever the lock was released in between, the step is
/// repeated from the start, keeping pins and room.
class Entry {
 public:
  Entry(ManagerCore& core, std::span<Operand> batch, const BatchContext& context, MutexLock& lock)
      : core_{core}, batch_{batch}, context_{context}, lock_{lock}, plans_(batch.size()) {
    tasks_.reserve(batch.size());
    operands_.reserve(batch.size());
    for (const auto& op : batch)
      if (op.block->record == nullptr) throw_retired("destroyed before a scope's entry");
    for (std::size_t i = 0; i < batch.size(); ++i) {
      ++batch[i].block->record->entering;
      const bool outside = batch[i].block->state.glance().is_outside();
      plans_[i].told = batch[i].entered && core_.announcer_.wants_use(outside);
    }
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  ~Entry() TIER_NO_THREAD_SAFETY_ANALYSIS {
    if (!done_) roll_back();
    core_.promised_ -= promised_;
    if (waiter_.has_closed_door()) core_.open_door(waiter_);
    stand_down();
    // Objects destroyed meanwhile are released by the last batch that held their descriptors.
    for (const auto& op : batch_)
      if (--op.block->record->entering == 0 && op.block->record->dying) core_.release_if_dead(*op.block);
  }

  void run()
      TIER_NO_THREAD_SAFETY_ANALYSIS;  // with the lock of core_ held, which the analysis knows by another name
  /// Returns the tier in which operand `i` is used.   \pre  run() has returned
  [[nodiscard]] TierIndex used_in(std::size_t i) const noexcept { return plans_[i].tier; }

 private:
  enum class Step { Done, Again, Blocked };
  enum class Way { Entered, NeedsRoom, Joined, Again };
  struct Plan {
    Region* room = nullptr;
    Transfer* transfer = nullptr;  // referenced, and the block has our pin: begun by us, or joined
    bool own = false;              // begun by this batch: it must run it
    TierIndex target = no_tier;
    TierIndex tier = no_tier;  // where the operand is used
    bool told = false;         // the use was reported when it entered without the lock
    bool asked = false;        // the policy has been asked about this use
    bool missed = false;       // asked for more than the block's first place
    bool joined = false;       // another thread had begun to fetch it
    bool retried = false;      // a failed block is read once more
    bool retired = false;      // the block was retired when it was marked moving
    bool shielded = false;     // by this batch
    bool stopped = false;      // this batch has ended a fetch of it
  };

  Step step() TIER_REQUIRES(core_.mutex_);
  Way admit(std::size_t i) TIER_REQUIRES(core_.mutex_);
  Way admit_moving(std::size_t i) TIER_REQUIRES(core_.mutex_);
  Way admit_settled(std::size_t i) TIER_REQUIRES(core_.mutex_);
  std::span<const OperandFacts> operands() TIER_REQUIRES(core_.mutex_);
  TierIndex place(std::size_t i) TIER_REQUIRES(core_.mutex_);
  bool decide(std::size_t i) TIER_REQUIRES(core_.mutex_);
  Step find_rooms(bool& repeated) TIER_REQUIRES(core_.mutex_);
  bool find_room(std::size_t i) TIER_REQUIRES(core_.mutex_);
  bool take_space() TIER_REQUIRES(core_.mutex_);
  void shield() TIER_REQUIRES(core_.mutex_);
  void unshield() noexcept TIER_REQUIRES(core_.mutex_);
  void lacks(std::size_t i) TIER_REQUIRES(core_.mutex_);
  bool mark(std::size_t i) TIER_REQUIRES(core_.mutex_);
  void unmark(std::size_t i) TIER_REQUIRES(core_.mutex_);
  [[nodiscard]] bool needs_no_bytes(std::size_t i) const;
  bool begin(std::size_t i) TIER_REQUIRES(core_.mutex_);
  bool install() TIER_REQUIRES(core_.mutex_);
  /// True if a transfer must end before an operand can enter.
  [[nodiscard]] bool waits() const noexcept {
    return std::ranges::any_of(plans_, [](const Plan& plan) { return plan.transfer != nullptr; });
  }
  Step finish_transfers() TIER_REQUIRES(core_.mutex_);
  void admitted(std::size_t i) TIER_REQUIRES(core_.mutex_);
  void count_in_place(std::size_t i) TIER_REQUIRES(core_.mutex_);
  void stop_and_take_over(std::size_t i, Transfer& t) TIER_REQUIRES(core_.mutex_);
  void tell_uses() TIER_REQUIRES(core_.mutex_);
  void blocked() TIER_REQUIRES(core_.mutex_);
  bool fall_back() TIER_REQUIRES(core_.mutex_);
  /// True if the operand's block also stands earlier in the batch.
  [[nodiscard]] bool again(std::size_t i) const noexcept {
    return std::ranges::any_of(batch_.first(i),
                               [&](const Operand& op) { return op.block == batch_[i].block; });
  }
  bool too_large() const TIER_REQUIRES(core_.mutex_);
  void leave_room_for_faults() TIER_REQUIRES(core_.mutex_);
  bool gather_room() TIER_REQUIRES(core_.mutex_);
  void stand_in_line() TIER_REQUIRES(core_.mutex_);
  void stand_down() TIER_REQUIRES(core_.mutex_);
  bool roll_back() TIER_REQUIRES(core_.mutex_);
  void leave(std::size_t i) TIER_REQUIRES(core_.mutex_);
  void look_again() TIER_REQUIRES(core_.mutex_);
  void report_wait() TIER_REQUIRES(core_.mutex_);
  [[noreturn]] void throw_unreadable(std::size_t i) TIER_REQUIRES(core_.mutex_);
  [[noreturn]] void throw_out_of_memory(std::error_code cause) const TIER_REQUIRES(core_.mutex_);

  ManagerCore& core_;
  std::span<Operand> batch_;
  const BatchContext& context_;
  MutexLock& lock_;
  boost::container::small_vector<Plan, 8> plans_;
  boost::container::small_vector<CopyTask*, 8> tasks_;
  boost::container::small_vector<OperandFacts, 8> operands_;
  RoomReport report_;
  WaitingLine::Waiter waiter_;
  bool done_ = false;
  int gathered_ = 0;  // how often room for the whole set was gathered, without a wait for pins in between
  bool in_place_ = false;  // operands stay where they are if the CPU can reach them
  bool shields_ = true;    // no operand leaves to make room for another, if that can be avoided
  std::uint64_t lacking_ = 0;
  std::uint64_t promised_ = 0;
  std::size_t lacking_operand_ = 0;
  std::uint64_t waiting_since_ = 0;
};

/// \pre  the operand has our pin, is settled, and its primary can be used in place.
void Entry::admitted(std::size_t i) {
  Operand& op = batch_[i];
  Block& b = *op.block;
  auto& record = *b.record;
  op.entered = true;
  if (record.window_address != nullptr && b.address.load(std::memory_order_relaxed) == nullptr) core_.show(b);
  if (record.window_address != nullptr && op.use != Use::Read && !record.writable) core_.let_write(b);
  op.address = b.address.load(std::memory_order_acquire);
  if (op.address != nullptr) op.address += op.offset;
  b.note_use(mutated(Mutant::VersionNotRaised) ? Use::Read : op.use, core_.clock_.stamp());
  plans_[i].tier = record.primary()->tier;
  record.archived = false;
  if (record.garbage && op.use != Use::Read && !record.dying) core_.clear_garbage(b);
  core_.refresh(b);
}

void Entry::count_in_place(std::size_t i) {
  if (batch_[i].block->record->primary()->tier == 0) return;
  ++core_.counts_.in_place_operands;
  core_.counts_.in_place_bytes += batch_[i].size;
}

/// Ends a transfer that is in the way of a write, without publishing it. Takes a pin.
void Entry::stop_and_take_over(std::size_t i, Transfer& t) {
  Block& b = *batch_[i].block;
  // The version comes first: nothing older is published from here on.
  if (!mutated(Mutant::VersionNotRaised)) b.version.fetch_add(1, std::memory_order_relaxed);
  b.state.pin_anyway();
  ++t.references;
  plans_[i].transfer = &t;
  core_.engine_.cancel(t);
  core_.without_lock(lock_, [&] {
    core_.engine_.stop(t);  // waits for the CPU's chunk in flight, never for the device's
  });
  if (mutated(Mutant::MoverWithoutVersionCheck)) return;  // only the mover's own look at the version is left
  while (t.delivering) core_.wait(lock_);
  if (!t.ended && t.block == &b) core_.orphan(t);
}

Entry::Way Entry::admit_moving(std::size_t i) {
  Operand& op = batch_[i];
  Block& b = *op.block;
  Transfer* t = b.record->transfer;
  if (t == nullptr) {  // marked moving a moment ago by a room in the making: look again
    if (b.record->sliding)
      core_.wait(lock_);
    else
      look_again();
    return Way::Again;
  }
  const bool reachable = core_.reachable(b, b.record->primary()->tier);
  if (t->kind == TransferKind::Fetch || !reachable) {
    // An overwrite ends the fetch, but only once. If it meets another fetch it has found no room in between, and a reader
    // and an overwriter that need the same room would end each other's fetches for ever.
    if (op.use == Use::Overwrite && !std::exchange(plans_[i].stopped, true)) {
      stop_and_take_over(i, *t);
      leave(i);
      return Way::Again;
    }
    // The CPU can use neither tier: let the transfer end, and look again.
    if (t->kind != TransferKind::Fetch) core_.engine_.cancel(*t);
    t->awaited = true;
    b.state.pin_anyway();
    ++t->references;
    plans_[i].transfer = t;
    plans_[i].joined = true;
    return Way::Joined;
  }
  if (op.use == Use::Read) {  // the source stays valid: a block that was to leave stays
    b.state.pin_anyway();
    admitted(i);
    return Way::Entered;
  }
  stop_and_take_over(i, *t);
  if (const auto state = b.state.now(); state.is_retired() || state.has_failed()) {
    leave(i);
    return Way::Again;
  }
  admitted(i);
  core_.unreference(*std::exchange(plans_[i].transfer, nullptr));
  return Way::Again;  // the lock was released: what was found about earlier operands may be wrong now
}

/// Returns the whole batch for the policy: each operand where it is now.
std::span<const OperandFacts> Entry::operands() {
  operands_.clear();
  for (const auto& op : batch_) {
    const Region* primary = op.block->record->primary();
    operands_.push_back({op.block->id, op.use, primary != nullptr ? primary->tier : no_tier});
  }
  return {operands_.data(), operands_.size()};
}

/// Asks where a block without bytes begins, as for a new one, and keeps free room found there.
TierIndex Entry::place(std::size_t i) {
  const Block& b = *batch_[i].block;
  const Placement placement = core_.ask_where(b, core_.name_of(b));
  const auto n = static_cast<TierIndex>(core_.tiers_.size());
  for (TierIndex k = 0; k < n && !placement.make_room; ++k) {  // the slower tiers, then the faster ones
    const auto t = static_cast<TierIndex>((placement.tier + k) % n);
    bool behind = false;
    std::error_code refused;
    const auto range = core_.range_for(b, t);
    do {
      plans_[i].room = core_.allocate_region_in(t, range, behind, refused);
      if (plans_[i].room != nullptr) return t;
    } while (k == 0 && core_.stop_sliding(t, range, lock_));
  }
  return placement.tier;
}

/// Asks the policy, once per use, where the use happens. \return  true if it was asked now, and may have acted
bool Entry::decide(std::size_t i) {
  Operand& op = batch_[i];
  Plan& plan = plans_[i];
  auto& record = *op.block->record;
  auto here = record.primary() != nullptr ? record.primary()->tier : no_tier;
  const bool ask = !plan.asked;
  if (ask) {
    plan.asked = true;
    plan.target = 0;
    if (here == no_tier) here = again(i) ? TierIndex{0} : place(i);
    if (here != 0) {
      plan.missed = true;
      ++core_.counts_.misses;
      MissEvent event{{}, core_.facts(*op.block), op.use, context_.scope, operands()};
      event.block.tier = here;
      core_.announcer_.tell(event, &Observer::on_miss);
      const MissDecision decision = core_.announcer_.ask([&](Policy& p) { return p.on_miss(event, core_); });
      plan.target = decision.tier < core_.tiers_.size() ? decision.tier : here;
      record.remembered = decision.remember && plan.target == here;
    }
  }
  const bool usable = record.primary() != nullptr && core_.reachable(*op.block, here);
  if (in_place_ && usable) plan.target = here;
  if (plan.target == no_tier || !core_.reachable(*op.block, plan.target)) plan.target = 0;
  if (plan.room != nullptr && plan.room->tier != plan.target)
    core_.free_region(std::exchange(plan.room, nullptr));
  return ask;
}

Entry::Way Entry::admit_settled(std::size_t i) {
  Operand& op = batch_[i];
  Block& b = *op.block;
  auto& record = *b.record;
  Plan& plan = plans_[i];
  const auto state = b.state.now();
  const bool overwrite = op.use == Use::Overwrite;
  // Retired, but its bytes are still there because it is pinned: it is revived, also for the scopes that pin it.
  if (record.primary() != nullptr) b.state.revive();
  if (state.has_failed()) {
    if (!overwrite && plan.retried) throw_unreadable(i);
    plan.retried = !overwrite;
    b.state.recover();
  }
  Region* primary = record.primary();
  const bool reachable = primary != nullptr && core_.reachable(b, primary->tier);
  const bool stays = reachable && (primary->tier == 0 || record.remembered);
  if (!stays && decide(i)) return Way::Again;
  const bool pinned = b.pins() > 0;
  if (reachable && (stays || pinned || primary->tier <= plan.target)) {
    b.state.pin_anyway();
    count_in_place(i);
    admitted(i);
    return Way::Entered;
  }
  // Pins on a block that cannot be used in place hold no address: their scopes look again. An overwrite brings the block
  // to where they will find it.
  if (pinned && !overwrite) {
    look_again();
    return Way::Again;
  }
  if (primary != nullptr && core_.settle_in(b, plan.target, Cause::Miss)) return Way::Again;
  return Way::NeedsRoom;
}

Entry::Way Entry::admit(std::size_t i) {
  const Block& b = *batch_[i].block;
  const auto state = b.state.now();
  if (b.record->dying) throw_retired("destroyed during a scope's entry");
  if (state.is_retired() && batch_[i].use != Use::Overwrite) throw_retired(core_.name_of(b));
  return state.is_moving() ? admit_moving(i) : admit_settled(i);
}

void Entry::lacks(std::size_t i) {
  lacking_ = batch_[i].block->size;
  lacking_operand_ = i;
}

/// Leaves room for faults before room is looked for. Blocks that have no place anywhere then count as living.
void Entry::leave_room_for_faults() {
  if (!core_.keeps_room()) return;
  core_.promised_ -= std::exchange(promised_, 0);
  std::uint64_t sum = 0, largest = 0;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const Block& b = *batch_[i].block;
    if (b.record->primary() != nullptr || again(i)) continue;
    lacks(i);
    sum += round_up(b.size, core_.granule_);
    largest = std::max(largest, b.size);
  }
  if (sum == 0) return;
  const std::string name{
      core_.name_of(*batch_[lacking_operand_].block)};  // copied: the object may go meanwhile
  report_.unlocked |= core_.leave_room_for_faults(sum, largest, name, lock_);
  core_.promised_ += promised_ = sum;
}

/// \return  false if there is no room; `report_` says why
bool Entry::find_room(std::size_t i) {
  Block& b = *batch_[i].block;
  Plan& plan = plans_[i];
  lacks(i);
  const auto take = [&](TierIndex t) TIER_NO_THREAD_SAFETY_ANALYSIS {
    plan.room = core_.make_room_for(b, t, report_, lock_);
    return plan.room != nullptr;
  };
  const auto wanted = plan.target;
  if (take(wanted)) return true;
  // No scope fails because the policy avoids a tier. Slower tiers come last, for blocks that cannot be used where they are.
  const Region* primary = b.record->primary();
  const bool reachable = primary != nullptr && core_.reachable(b, primary->tier);
  for (TierIndex t = 0; t < core_.tiers_.size() && core_.reachable(b, t); ++t) {
    if (t == wanted || (t > wanted && (reachable || !in_place_))) continue;
    plan.target = t;
    if (core_.settle_in(b, t, Cause::Miss)) return report_.unlocked = true;  // a copy was there
    if (take(t)) return true;
  }
  plan.target = wanted;
  return false;
}

/// Finds room for each operand that needs it. No operand leaves its place to make room for another, unless there is no
/// other way.
Entry::Step Entry::find_rooms(bool& repeated) {
  struct Shielding {
    explicit Shielding(Entry& e) TIER_NO_THREAD_SAFETY_ANALYSIS : entry{e} {
      if (entry.shields_) entry.shield();
    }
    ~Shielding() TIER_NO_THREAD_SAFETY_ANALYSIS { entry.unshield(); }
    Shielding(const Shielding&) = delete;
    Shielding& operator=(const Shielding&) = delete;
    Entry& entry;
  };
  leave_room_for_faults();
  if (report_.unlocked) return Step::Again;
  const Shielding sparing{*this};
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (batch_[i].entered || plans_[i].transfer != nullptr || plans_[i].room != nullptr) continue;
    if (again(i)) {  // the first occurrence gets the room; this one is looked at again later
      repeated = true;
      continue;
    }
    if (!find_room(i)) return Step::Blocked;
    if (report_.unlocked) return Step::Again;
  }
  return Step::Done;
}

/// Asks the system for the space of rooms that have none.   \return  false if it was asked: look again
bool Entry::take_space() {
  bool asked = false;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    Region*& room = plans_[i].room;
    if (room != nullptr && core_.stays_put(*batch_[i].block)) core_.note_space(*room);
    if (room == nullptr || room->has_space) continue;
    core_.take_space(room, report_.cause, lock_);
    asked = true;
  }
  return !asked;
}

void Entry::shield() {
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (batch_[i].entered || plans_[i].transfer != nullptr) continue;
    Block& b = *batch_[i].block;
    ++b.record->shielded;
    plans_[i].shielded = true;
  }
}

void Entry::unshield() noexcept {
  bool any = false;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (!std::exchange(plans_[i].shielded, false)) continue;
    --batch_[i].block->record->shielded;
    any = true;
  }
  if (any) core_.changed();
}

/// Marks the block moving, so that no other thread moves it, or enters it without us. \return  false: look again
bool Entry::mark(std::size_t i) {
  Block& b = *batch_[i].block;
  const bool reachable = b.record->primary() != nullptr && core_.reachable(b, b.record->primary()->tier);
  const bool pins_hold_addresses = batch_[i].use != Use::Overwrite || reachable;
  plans_[i].retired = b.state.revive();
  if (ManagerCore::start_moving(b, pins_hold_addresses ? 0 : BlockState::any_pins)) return true;
  if (plans_[i].retired) b.state.retire();
  return false;
}

void Entry::unmark(std::size_t i) {
  Block& b = *batch_[i].block;
  b.state.end_move();
  if (plans_[i].retired) b.state.retire();
  core_.changed();
}

/// True if the operand needs none of the block's bytes and takes its room as it is.
bool Entry::needs_no_bytes(std::size_t i) const {
  return batch_[i].use == Use::Overwrite || batch_[i].block->record->primary() == nullptr;
}

/// Begins the fetch into the operand's room. \return  false: look again
bool Entry::begin(std::size_t i) {
  if (!mark(i)) return false;
  Plan& plan = plans_[i];
  Block& b = *batch_[i].block;
  Transfer* t = core_.begin_transfer(b, TransferKind::Fetch, std::exchange(plan.room, nullptr), Cause::Miss);
  if (t == nullptr) throw std::bad_alloc{};
  b.state.pin_anyway();
  t->awaited = true;
  ++t->references;
  plan.transfer = t;
  plan.own = true;
  return true;
}

/// Gives blocks that will be overwritten their room, as the last step before the scope is open: an entry that fails has
/// overwritten nothing. \return  false if a block is busy; then none has changed
bool Entry::install() {
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (plans_[i].room == nullptr || mark(i)) continue;
    for (std::size_t marked = 0; marked < i; ++marked)
      if (plans_[marked].room != nullptr) unmark(marked);
    core_.free_region(std::exchange(plans_[i].room, nullptr));
    return false;
  }
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (plans_[i].room == nullptr) continue;
    Block& b = *batch_[i].block;
    b.version.fetch_add(1, std::memory_order_relaxed);  // the copies elsewhere are stale
    Region* old = b.record->primary();
    TIER_ASSERT(b.record->in(plans_[i].room->tier) == nullptr, "an operand has no room where it is already");
    core_.set_primary(b, std::exchange(plans_[i].room, nullptr));
    if (old != nullptr) old->version = 0;
    if (old != nullptr && old->tier != b.record->primary()->tier)
      core_.announcer_.tell_observers(MigrationEvent{{},
                                                     b.id,
                                                     old->tier,
                                                     b.record->primary()->tier,
                                                     {0},
                                                     Cause::Miss,
                                                     core_.timeline_.now_ns(),
                                                     0,
                                                     true},
                                      &Observer::on_migration);
    b.state.pin_anyway();
    b.state.recover();
    b.state.end_move();
    count_in_place(i);
    admitted(i);
  }
  return true;
}

/// Runs the fetches that this batch has begun, and waits for those it has joined.
/// \return  Again if an operand could not be used after all
Entry::Step Entry::finish_transfers() {
  const auto began = core_.timeline_.now_ns();
  tasks_.clear();
  for (auto& plan : plans_)
    if (plan.own && plan.transfer != nullptr) tasks_.push_back(plan.transfer);
  if (!tasks_.empty()) {
    core_.without_lock(lock_, [&] { core_.engine_.run({tasks_.data(), tasks_.size()}); });
  }
  bool waited = !tasks_.empty();
  for (auto& plan : plans_) {
    if (plan.transfer == nullptr) continue;
    waited = true;
    core_.wait_for_end(*plan.transfer, lock_);
  }
  if (waited) core_.count_wait(context_, began, StallCause::Transfer);

  Step result = Step::Done;
  std::size_t unreadable = batch_.size();
  bool gone = false;  // an object was destroyed; its descriptor may go, too
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (plans_[i].transfer == nullptr) continue;
    core_.unreference(*std::exchange(plans_[i].transfer, nullptr));
    plans_[i].own = false;
    Block& b = *batch_[i].block;
    const Region* primary = b.record->primary();
    const auto state = b.state.now();
    const bool usable =
        !state.has_failed() && !state.is_retired() && primary != nullptr && core_.reachable(b, primary->tier);
    if (usable) {
      ++core_.counts_.fetched_operands;
      core_.counts_.fetched_operand_bytes += batch_[i].size;
      admitted(i);
      continue;
    }
    if (state.has_failed()) unreadable = i;
    if (b.record->dying) gone = true;
    leave(i);
    result = Step::Again;
  }
  if (gone) throw_retired("destroyed during a scope's entry");
  if (unreadable < batch_.size() && plans_[unreadable].retried) throw_unreadable(unreadable);
  return result;
}

Entry::Step Entry::step() {
  report_ = RoomReport{};
  bool lacking = false;
  lacking_ = 0;
  if (context_.root && core_.line_.is_closed_to(waiter_)) return Step::Blocked;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (batch_[i].entered || plans_[i].transfer != nullptr) continue;
    switch (admit(i)) {
      case Way::Entered:
      case Way::Joined:
        break;
      case Way::NeedsRoom:
        if (!lacking) lacks(i);
        lacking = true;
        break;
      case Way::Again:
        if (waits()) finish_transfers();  // our own pins may be in the way
        return Step::Again;
    }
  }
  if (lacking && context_.root && core_.line_.is_behind_others(waiter_)) return Step::Blocked;
  bool repeated = false, busy = false;
  if (lacking)
    if (const Step found = find_rooms(repeated); found != Step::Done) return found;
  if (!take_space()) return Step::Again;
  bool installs = false;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (plans_[i].room == nullptr) continue;
    const bool needless = batch_[i].entered || plans_[i].transfer != nullptr;
    if (!needless && needs_no_bytes(i)) {
      installs = true;
      continue;
    }
    if (!needless && begin(i)) continue;
    busy |= !needless;
    if (plans_[i].room != nullptr) core_.free_region(std::exchange(plans_[i].room, nullptr));
  }
  if (waits()) {
    // Fetches that have begun are run before we look again: others may wait for them while we wait for others.
    const Step carried_out = finish_transfers();
    return repeated || busy || installs ? Step::Again : carried_out;
  }
  if (busy || !install()) return Step::Again;
  return repeated ? Step::Again : Step::Done;
}

void Entry::run() {
  for (;;) {
    switch (step()) {
      case Step::Done:
        done_ = true;
        return tell_uses();
      case Step::Again:
        continue;
      case Step::Blocked:
        blocked();
    }
  }
}

/// Reports each use that was not reported as a miss or on the lock-free path. A use reported there and then given back, for
/// want of room, may in the end also be reported as a miss.
void Entry::tell_uses() {
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const Plan& plan = plans_[i];
    const bool outside = plan.joined || plan.tier != 0;
    if (!plan.told && !plan.missed && core_.announcer_.wants_use(outside))
      core_.used(*batch_[i].block, batch_[i].use, outside, true);
  }
}

/// Handles a lack of room: waits, does with less, or throws.
void Entry::blocked() {
  const auto cause = report_.cause;
  if (roll_back()) return;                   // the lock was released: look again
  const RoomReport report = core_.survey();  // this batch pins nothing now
  if (report.again) return;
  const auto began = core_.timeline_.now_ns();
  if (report.transient) {  // transfers end by themselves
    core_.hurry(false, lock_);
    return core_.count_wait(context_, began, StallCause::Room);
  }
  const bool others_first = context_.root && !waiter_.has_closed_door() &&
                            (core_.line_.is_behind_others(waiter_) || core_.line_.is_closed());
  if (context_.root && (report.foreign || others_first) && !too_large()) {
    stand_in_line();
    gathered_ = 0;
    core_.wait(lock_);
    core_.count_wait(context_, began, StallCause::Room);
    return report_wait();
  }
  if (context_.root && !too_large()) stand_in_line();  // batches that lack room later come after us
  if (!cause && gathered_++ < gathers && (gather_room() || report_.unlocked)) return;
  if (!cause && context_.root && !too_large() && !waiter_.has_closed_door()) {
    gathered_ = 0;  // others keep taking the room first
    return core_.close_door(waiter_);
  }
  if (!cause && std::exchange(shields_, false)) return;
  if (fall_back()) return;
  throw_out_of_memory(cause);
}

/// True if the batch would not fit its tiers even if nothing else that can move were in them.
bool Entry::too_large() const {
  std::array<std::uint64_t, max_tiers> sum{};
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const Block& b = *batch_[i].block;
    if (!again(i) && plans_[i].target < max_tiers) sum[plans_[i].target] += b.size;
  }
  for (std::size_t t = 0; t < core_.tiers_.size(); ++t) {
    const auto& heap = core_.tiers_[t].heap;
    if (sum[t] > heap.capacity().count - heap.condemned().count - core_.placed_[t]) return true;
  }
  return false;
}

/// Uses operands in place where the CPU can reach them in a slower tier, and fetches others no further than necessary.
bool Entry::fall_back() {
  if (in_place_ || context_.advice) return false;
  in_place_ = true;
  if (core_.tiers_.size() < 2 || !core_.addressable(1)) return false;
  return std::ranges::any_of(batch_, [&](const Operand& op) TIER_NO_THREAD_SAFETY_ANALYSIS {
    const Region* primary = op.block->record->primary();
    return primary == nullptr || primary->tier != 0;
  });
}

/// Makes room for all operands in one piece, and shares it out: they may stand in each other's way.
bool Entry::gather_room() {
  report_ = RoomReport{};
  using Packing = ManagerCore::Packing;
  for (const auto packing : {Packing::Preferred, Packing::Tight}) {
    const auto alignment_of = [&](const Block& b) TIER_NO_THREAD_SAFETY_ANALYSIS {
      const auto own = b.record->alignment;
      return packing == Packing::Tight ? own : core_.preferred_alignment(0, b.size, own);
    };
    Range range;
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      if (again(i)) continue;
      const Block& b = *batch_[i].block;
      range.alignment = std::max(range.alignment, alignment_of(b));
      range.size = round_up(range.size, alignment_of(b)) + round_up(b.size, core_.granule_);
      range.in_window |= b.record->window_address != nullptr;
    }
    Region* all = core_.make_room(0, range, 0, report_, lock_);
    if (all == nullptr) continue;
    core_.free_region(all);
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      const Block& b = *batch_[i].block;
      if (again(i) || (b.record->primary() != nullptr && b.record->primary()->tier == 0)) continue;
      if (plans_[i].target != 0) continue;
      plans_[i].room = core_.allocate_region_at(0, b.size, alignment_of(b), report_.cause);
    }
    return true;
  }
  return false;
}

void Entry::stand_in_line() {
  if (core_.line_.join(waiter_)) waiting_since_ = core_.timeline_.now_ns();
}

void Entry::stand_down() {
  if (core_.line_.leave(waiter_)) core_.changed();
}

void Entry::report_wait() {
  const auto limit = static_cast<std::uint64_t>(core_.options_.report_waits_after.count()) * 1'000'000;
  if (core_.timeline_.now_ns() - waiting_since_ < limit) return;
  waiting_since_ = core_.timeline_.now_ns();
  const std::string name{
      core_.name_of(*batch_[lacking_operand_].block)};  // copied: the object may go meanwhile
  core_.report_holders(name, lacking_, lock_);
}

void Entry::leave(std::size_t i) {
  if (plans_[i].transfer != nullptr) core_.unreference(*std::exchange(plans_[i].transfer, nullptr));
  plans_[i].own = false;
  batch_[i].entered = false;
  core_.leave_locked(*batch_[i].block);
}

/// Gives back all pins and rooms. \return  true if the lock was released in between
bool Entry::roll_back() {
  bool unlocked = false;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (plans_[i].room != nullptr) core_.free_region(std::exchange(plans_[i].room, nullptr));
    if (plans_[i].own && plans_[i].transfer != nullptr) {  // begun and not run: run it, then let go
      CopyTask* const task = plans_[i].transfer;
      core_.without_lock(lock_, [&] { core_.engine_.run({&task, 1}); });
      unlocked = true;
    }
    if (batch_[i].entered || plans_[i].transfer != nullptr) leave(i);
  }
  return unlocked;
}

/// Another thread is between two steps that need no lock: lets it take the second.
void Entry::look_again() {
  core_.without_lock(lock_, [&] { std::this_thread::yield(); });
}

void throw_retired(std::string_view name) {
  throw TierError{std::make_error_code(std::errc::no_such_file_or_directory),
                  "scope on a retired object: " + std::string{name}};
}

/// Throws for the whole batch, each block counted once.
void Entry::throw_out_of_memory(std::error_code cause) const {
  std::uint64_t size = 0;
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (again(i)) continue;
    size += batch_[i].block->size;
    ++blocks;
  }
  const auto name = core_.name_of(*batch_[lacking_operand_].block).substr(0, 60);
  if (blocks == 1) core_.throw_out_of_memory(size, name, cause);
  std::array<char, 100> all{};  // must not allocate now
  std::snprintf(all.data(), all.size(), "%.*s and %zu more", static_cast<int>(name.size()), name.data(),
                blocks - 1);
  core_.throw_out_of_memory(size, all.data(), cause);
}

void Entry::throw_unreadable(std::size_t i) {
  core_.throw_unreadable(*batch_[i].block, std::make_error_code(std::errc::io_error));
}

void ManagerCore::throw_unreadable(const Block& b, std::error_code error) const {
  const auto tier = b.record->primary() != nullptr ? b.record->primary()->tier : TierIndex{0};
  throw TierError{error, "reading \"" + std::string{name_of(b)} + "\" from tier " +
                             std::string{tiers_[tier].tier->name()} + " failed"};
}

namespace {

/// Returns the name in memory that can be read under the lock: a name in a window is copied; without memory it is empty.
std::string_view readable(std::string_view name, std::string& copy) noexcept try {
  if (name.empty() || WindowSpace::find(name.data()) == nullptr) return name;
  return copy = name;
} catch (const std::bad_alloc&) {
  return {};
}

}  // namespace

void ManagerCore::enter(std::span<Operand> batch, const BatchContext& asked) {
  std::string name;
  auto context = asked;
  context.kernel = readable(asked.kernel, name);
  const auto is_advice = [](const Operand& op) { return op.advice; };
  if (!in_fork_child_ && std::ranges::any_of(batch, is_advice)) return enter_with_advice(batch, context);
  enter_all(batch, context);
}

void ManagerCore::enter_all(std::span<Operand> batch, const BatchContext& context) {
  for (auto& op : batch) op.entered |= op.block == nullptr;
  if (std::ranges::all_of(batch, &Operand::entered)) return;
  if (in_fork_child_) return enter_in_child(batch);
  const auto self = shared_from_this();  // all objects may go while a scope waits
  const TellsFailure tells{*this};
  boost::container::small_vector<Operand, 8> managed;
  boost::container::small_vector<std::size_t, 8> places;
  boost::container::small_vector<TierIndex, 8> used;
  const auto hand_back = [&]() noexcept {
    for (std::size_t i = 0; i < managed.size(); ++i) batch[places[i]] = managed[i];
  };
  try {
    managed.reserve(batch.size());
    places.reserve(batch.size());
    used.reserve(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (batch[i].block == nullptr) continue;
      managed.push_back(batch[i]);
      // A block that the batch also reads keeps its bytes.
      const auto needed = [&](const Operand& op) {
        return op.block == batch[i].block && op.use != Use::Overwrite;
      };
      if (batch[i].use == Use::Overwrite && std::ranges::any_of(batch, needed))
        managed.back().use = Use::Update;
      places.push_back(i);
      used.push_back(no_tier);
    }
    MutexLock lock{mutex_};
    drain_own_notes();
    clock_.advance();
    const Inside inside{*this};
    Entry entry{*this, {managed.data(), managed.size()}, context, lock};
    entry.run();
    check_watermarks();
    for (std::size_t i = 0; i < managed.size(); ++i) used[i] = entry.used_in(i);
  } catch (...) {
    hand_back();
    for (auto& op : batch)  // leaves what entered without the lock; advice that did not enter stays held
      if (std::exchange(op.entered, false) && op.block != nullptr) Manager::leave(op);
    MutexLock lock{mutex_};
    std::ignore = needless_keeper();
    throw;
  }
  hand_back();
  for (std::size_t i = 0; i < managed.size(); ++i) charge_in_place(managed[i], used[i]);
}

/// Charges an emulated device's time for the whole object, whatever part of it the scope will touch.
void ManagerCore::charge_in_place(const Operand& op, TierIndex t) noexcept {
  if (t == no_tier || !tiers_[t].tier->charges()) return;
  const auto now = std::chrono::steady_clock::now();
  if (op.use != Use::Overwrite) tiers_[t].tier->charge(Direction::Read, op.size, 1, now);
  if (op.use != Use::Read) tiers_[t].tier->charge(Direction::Write, op.size, 1, now);
}

}  // namespace tier
