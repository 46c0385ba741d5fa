// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/cache/row_cache.hpp"

#include <tier/core/error.hpp>

#include <algorithm>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <utility>

namespace tier::detail {
namespace {

// Bytes that are moved at once: enough to fill a device's queue, few enough that a wait for one row stays short.
constexpr std::size_t chunk_bytes = 256 << 10;
constexpr std::size_t fewest_in_chunk = 32, most_in_chunk = 1024;
// Rows that a prefetch examines under one hold of the lock.
constexpr std::size_t prefetch_stretch = 4096;
constexpr std::size_t page = 4096;

std::size_t rows_in_chunk(const RowLayout& layout, const CacheShape& shape) {
  if (layout.block_rows > 1) return std::min(std::size_t{shape.buffers} * layout.block_rows, most_in_chunk);
  return std::clamp(chunk_bytes / layout.row_bytes, fewest_in_chunk, most_in_chunk);
}

std::size_t buffer_bytes(const RowLayout& layout, const CacheShape& shape) {
  return shape.buffers * layout.block_bytes;
}
std::size_t storage_bytes(const RowLayout& layout, const CacheShape& shape) {
  const auto parts = shape.parts(layout);
  return parts.total().count - parts.policy.count;
}

/// Replaces a policy that has failed. It keeps no state, so it need not be told what came before.
class FirstTouch final : public RowPolicy {
 public:
  std::string_view name() const noexcept override { return "first touch (after a failure)"; }
  std::size_t bytes_per_slot() const noexcept override { return 0; }
  void attach(RowId, SlotId, const RowFacts&) override {}
  void on_hit(RowId, SlotId) override {}
  bool admit(RowId, bool slots_free) override { return slots_free; }
  void on_insert(RowId, SlotId) override {}
  void on_erase(RowId, SlotId) override {}
  SlotId victim(const SlotFilter&, RowId, RoomFor) override { return no_slot; }
};

}  // namespace

/// Says which slots a session may take.
class RowCache::MayGo final : public SlotFilter {
 public:
  MayGo(const RowCache& cache, bool held, BatchNumber but_not_of) noexcept
      : cache_{cache}, held_{held}, but_not_of_{but_not_of} {}
  bool operator()(SlotId slot) const noexcept override
      TIER_NO_THREAD_SAFETY_ANALYSIS {  // called under the lock
    const auto& state = cache_.states_[slot];
    if (state.pins != 0 || state.stuck || state.writing) return false;
    if (!cache_.is_held(state)) return true;
    return held_ && state.hold != but_not_of_;
  }

 private:
  const RowCache& cache_;
  bool held_;
  BatchNumber but_not_of_;
};

RowCache::RowCache(Manager& manager, const RowLayout& layout, const CacheShape& shape, PlacedStorage slow,
                   std::unique_ptr<RowPolicy> policy, std::string name)
    : manager_{manager},
      layout_{layout},
      shape_{shape},
      name_{std::move(name)},
      own_policy_{std::move(policy)},
      policy_{own_policy_.get()},
      wants_all_{policy_->wanted_uses() == RowUses::All},
      chunk_{rows_in_chunk(layout, shape)},
      most_moved_{std::max({chunk_, std::size_t{8} * shape.buffers, std::size_t{shape.staging}})},
      storage_{manager.allocate_fixed(Bytes{storage_bytes(layout, shape)}, page, Manager::fastest(),
                                      name_ + ".slots")},
      home_{layout, std::move(slow), {storage_.address(), buffer_bytes(layout, shape)}},
      direct_{policy_->uses_in_place() && home_.address() != nullptr && !home_.tier().checks_accesses()} {
  // Buffers and slots come first, because a slow tier may require memory aligned to a divisor of the block size.
  const auto slots = std::size_t{shape.slots} + shape.staging;
  slots_ = storage_.address() + buffer_bytes(layout, shape);
  states_ = reinterpret_cast<SlotState*>(slots_ + shape.slot_bytes(layout));
  map_ = reinterpret_cast<std::atomic<std::uint32_t>*>(states_ + slots);
  log_ = reinterpret_cast<RowId*>(map_ + layout.rows);
  dirty_ = reinterpret_cast<std::atomic<std::uint32_t>*>(log_ + shape.log);
  for (std::size_t word = 0; word < CacheShape::words_of_bits(slots); ++word)
    new (&dirty_[word]) std::atomic<std::uint32_t>{0};
  for (RowId row = 0; row < layout.rows; ++row) new (&map_[row]) std::atomic<std::uint32_t>{nowhere};
  const MutexLock lock{mutex_};
  for (auto slot = static_cast<SlotId>(slots); slot-- > 0;) put_free(slot);
  ask([&](RowPolicy& p) { p.attach(layout.rows, shape.slots, *this); });
}

RowCache::~RowCache() = default;

SlotId RowCache::slot_of(RowId row) const noexcept {
  const auto entry = map_[row].load(std::memory_order_relaxed);
  if (entry == nowhere) return no_slot;
  const SlotId slot = entry & ~pending;
  return is_staging(slot) || states_[slot].row != row ? no_slot : slot;
}

void RowCache::put_free(SlotId slot) noexcept {
  auto& list = is_staging(slot) ? free_staging_ : free_;
  states_[slot] = {};
  set_dirty(slot, false);
  states_[slot].row = list;
  list = slot;
}

// The policy.

void RowCache::replace_policy() noexcept {
  static FirstTouch first_touch;
  std::fprintf(stderr,
               "libtier: row policy %.*s of table '%s' threw an exception; going on with first touch\n",
               static_cast<int>(own_policy_->name().size()), own_policy_->name().data(), name_.c_str());
  policy_ = &first_touch;
  wants_all_.store(false, std::memory_order_relaxed);
}

bool RowCache::admits(RowId row) noexcept {
  const bool slots_free = free_ != no_slot;
  return ask([&](RowPolicy& p) { return p.admit(row, slots_free); });
}

// Tells the policy once, however often the row is examined before it can be used.
void RowCache::tell_use(RowSession& session, RowId row, SlotId slot) noexcept {
  if (session.purpose != Purpose::Gather || std::exchange(session.told, true)) return;
  ask([&](RowPolicy& p) { slot < shape_.slots ? p.on_hit(row, slot) : p.on_miss(row); });
}

// Sessions.

void RowCache::reserve(RowSession& session, std::size_t rows) const {
  session.pins.reserve(rows);  // each row may pin a slot again, if another session has pinned it in between
  session.fetches.reserve(chunk_);
  session.moves.reserve(most_moved_);
  if (layout_.block_rows == 1) session.requests.reserve(most_moved_);
}

void RowCache::reserve(RowSession& background, std::vector<RowId>& admitted) const {
  reserve(background, chunk_);
  admitted.reserve(review_stretch());
}

void RowCache::begin(RowSession& session) noexcept {
  session.failure = {};
  session.force = false;
  const MutexLock pass{gate_};
  const MutexLock lock{mutex_};
  ++sessions_;
  if (++last_serial_ == 0) ++last_serial_;
  session.serial = last_serial_;
  if (is_awaited(session)) ++awaited_;
}

std::size_t RowCache::acquire(RowSession& session, std::span<const RowId> rows,
                              std::span<std::byte*> addresses) {
  reserve(session, rows.size());  // whatever may throw comes first
  begin(session);
  MutexLock lock{mutex_};
  if (session.purpose == Purpose::Gather) drain_log();
  std::size_t ready = 0;
  while (ready < rows.size()) {
    auto step = Step::Ready;
    auto next = ready;
    const auto pinned = session.pins.size();
    const auto waited_before = session.waited;
    while (next < rows.size() && !is_full(session)) {
      const auto waited = session.waited;
      step = place(session, rows[next], addresses[next]);
      if (step != Step::Ready) {
        session.waited = waited;  // the row will be examined again
        session.late = session.late || step == Step::Busy;
        break;
      }
      if (session.late && session.waited == waited) ++session.waited;
      session.late = session.told = false;
      ++next;
    }
    bool placed = true;
    if (!session.fetches.empty()) {
      lock.unlock();
      placed = carry_out(session);
      lock.lock();
    }
    if (session.failure) {
      lock.unlock();
      release(session, false);
      throw_unreadable(session);
    }
    if (!placed) {  // a victim could not be written back and its slot is unusable: look again
      let_go(session, pinned, false);
      session.waited = waited_before;
      continue;
    }
    const bool progress = next != ready;
    ready = next;
    if (step == Step::Ready || progress) continue;
    if (ready > 0) break;
    if (step == Step::Busy || pins_ != 0) {
      ++waiters_;
      changed_.wait(mutex_);
      --waiters_;
    } else if (!session.force) {
      session.force = true;
    } else {
      lock.unlock();
      release(session, false);
      lock.lock();
      throw_no_room();
    }
  }
  return ready;
}

RowCache::Step RowCache::place(RowSession& session, RowId row, std::byte*& address) {
  const auto entry = map_[row].load(std::memory_order_relaxed);
  if (entry == nowhere) {
    const auto step = place_missing(session, row, address);
    if (step == Step::Ready && is_awaited(session)) session.missed.insert(row);
    return step;
  }
  const SlotId slot = entry & ~pending;
  auto& state = states_[slot];
  const bool mine = state.session == session.serial;
  if (state.row != row) return Step::Busy;  // it is leaving
  if ((entry & pending) != 0) {
    if (!mine) return Step::Busy;
    ++session.waited;
  }
  if (session.purpose == Purpose::Update && state.writing) return Step::Busy;
  if (!mine) pin(session, slot);
  take_hold(state, session.hold);
  if (session.purpose == Purpose::Gather) state.prefetched = false;
  tell_use(session, row, slot);
  address = slot_address(slot);
  return Step::Ready;
}

RowCache::Step RowCache::place_missing(RowSession& session, RowId row, std::byte*& address) {
  if (in_fork_child_) return refuse(session, row, std::make_error_code(std::errc::operation_not_permitted));
  const bool peek = session.purpose == Purpose::Peek;
  ++session.waited;
  tell_use(session, row, no_slot);
  if (session.force || (!peek && admits(row))) {
    const auto slot = take_slot(session, row);
    if (slot != no_slot) {
      start_fetch(session, row, slot);
      address = slot_address(slot);
      return Step::Ready;
    }
    // A policy that is told every use decides as if rows came one by one: rows that this session has used may leave.
    if (policy_wants_all() && !session.pins.empty()) return Step::NoRoom;
  }
  if (session.purpose != Purpose::Update && slow().model().addressable)
    return read_in_place(session, row, address);
  if (free_staging_ == no_slot) return Step::NoRoom;
  const auto slot = free_staging_;
  free_staging_ = states_[slot].row;
  start_fetch(session, row, slot);
  address = slot_address(slot);
  return Step::Ready;
}

RowCache::Step RowCache::refuse(RowSession& session, RowId row, std::error_code error) {
  session.failure = error;
  session.failed_row = row;
  return Step::Busy;
}

RowCache::Step RowCache::read_in_place(RowSession& session, RowId row, std::byte*& address) {
  if (const auto error = slow().access_error(Direction::Read, home_.place_of(row), layout_.row_bytes)) {
    ++counters_.read_errors;
    return refuse(session, row, error);
  }
  if (session.in_place_reads++ == 0) session.in_place_since = std::chrono::steady_clock::now();
  session.in_place_bytes += layout_.row_bytes;
  address = home_.address() + std::uint64_t{row} * layout_.row_bytes;
  if (session.purpose == Purpose::Gather) ++counters_.missed_rows, ++counters_.in_place_rows;
  counters_.in_place_bytes += layout_.row_bytes;
  return Step::Ready;
}

// Returns a free slot or evicts a row. Rows that are not held go first; held ones follow, so that the caller need not wait.
SlotId RowCache::take_slot(RowSession& session, RowId row) {
  if (free_ != no_slot) {
    const auto slot = free_;
    free_ = states_[slot].row;
    states_[slot].row = no_row;
    return slot;
  }
  const MayGo unheld{*this, false, 0};
  const bool ahead = session.purpose == Purpose::Prefetch;
  const auto purpose = ahead ? RoomFor::Prefetch : RoomFor::Miss;
  auto slot = ask([&](RowPolicy& p) { return p.victim(unheld, row, purpose); });
  if (slot < shape_.slots && unheld(slot)) return slot;
  if (ahead) return no_slot;
  const MayGo held{*this, true, policy_wants_all() ? 0 : session.hold};
  slot = ask([&](RowPolicy& p) { return p.victim(held, row, RoomFor::Miss); });
  if (slot >= shape_.slots || !held(slot)) return session.force ? any_slot() : no_slot;
  ++counters_.holds_given_up;
  return slot;
}

SlotId RowCache::any_slot() noexcept {
  const MayGo any{*this, true, 0};
  for (SlotId tried = 0; tried < shape_.slots; ++tried) {
    hand_ = hand_ + 1 < shape_.slots ? hand_ + 1 : 0;
    if (any(hand_)) return hand_;
  }
  return no_slot;
}

void RowCache::start_fetch(RowSession& session, RowId row, SlotId slot) {
  auto& state = states_[slot];
  const bool staging = is_staging(slot);
  RowSession::Fetch fetch{row, slot, staging ? no_row : state.row, false, state.hold, {}};
  if (fetch.old != no_row) {
    fetch.write_back = is_dirty(slot);
    if (!fetch.write_back) set_entry(fetch.old, nowhere);
    ask([&](RowPolicy& p) { p.on_erase(fetch.old, slot); });
    ++counters_.evicted_rows;
    counters_.prefetched_unused += state.prefetched && is_held(state);
  }
  state = {};
  set_dirty(slot, false);
  state.row = row;
  state.hold = session.hold;
  state.prefetched = session.purpose == Purpose::Prefetch;
  set_entry(row, pending | slot);
  if (!staging) ask([&](RowPolicy& p) { p.on_insert(row, slot); });
  pin(session, slot);
  const bool same_block =
      !session.fetches.empty() && session.fetches.back().row / layout_.block_rows == row / layout_.block_rows;
  session.blocks += !same_block;
  session.fetches.push_back(fetch);
}

void RowCache::pin(RowSession& session, SlotId slot) noexcept {
  auto& state = states_[slot];
  state.session = session.serial;
  state.pins = (state.pins + 1) & 0xFF'FFFF;
  ++pins_;
  session.pins.push_back(slot);
}

void RowCache::unpin(SlotId slot, std::uint32_t serial) noexcept {
  auto& state = states_[slot];
  if (state.session == serial) state.session = 0;
  state.pins = (state.pins - 1) & 0xFF'FFFF;
  --pins_;
}

void RowCache::release(RowSession& session, bool used) noexcept {
  if (session.in_place_reads != 0) {
    slow().charge(Direction::Read, session.in_place_bytes, session.in_place_reads, session.in_place_since);
    session.in_place_reads = 0;
    session.in_place_bytes = 0;
  }
  const bool changed = used && session.purpose == Purpose::Update;
  if (changed) write_staged(session);
  const MutexLock lock{mutex_};
  if (is_awaited(session)) --awaited_;
  --sessions_;
  let_go(session, 0, changed);
}

// Unpins all slots of the session but the first `kept`.
void RowCache::let_go(RowSession& session, std::size_t kept, bool changed) noexcept {
  for (const auto slot : std::span{session.pins}.subspan(kept)) {
    auto& state = states_[slot];
    unpin(slot, session.serial);
    if (!is_staging(slot)) {
      if (changed) set_dirty(slot, true);
    } else if (map_[state.row].load(std::memory_order_relaxed) == (pending | slot)) {  // not stuck there
      set_entry(state.row, nowhere);
      put_free(slot);
    }
  }
  session.pins.resize(kept);
  if (waiters_ != 0) changed_.notify_all();
}

std::size_t RowCache::prefetch(RowSession& session, std::span<const RowId> rows, bool& full) noexcept {
  session.purpose = Purpose::Prefetch;
  begin(session);
  rows = rows.first(std::min(rows.size(), prefetch_stretch));
  std::size_t next = 0;
  {
    const MutexLock lock{mutex_};
    full = awaited_ != 0;  // a prefetch must not compete for slots with a gather or an update
    const bool over = !is_open(session.hold);  // the batch has ended meanwhile
    for (; next < rows.size() && !is_full(session) && !full && !over; ++next) {
      const auto entry = map_[rows[next]].load(std::memory_order_relaxed);
      if (entry != nowhere) {
        auto& state = states_[entry & ~pending];
        if (state.row == rows[next]) take_hold(state, session.hold);
        continue;
      }
      if (!admits(rows[next])) continue;
      const auto slot = take_slot(session, rows[next]);
      full = slot == no_slot;
      if (full) break;
      start_fetch(session, rows[next], slot);
    }
  }
  // If the slow tier accepts no victim, further tries are useless. A row that cannot be read is reported when it is
  // asked for.
  if (!carry_out(session)) full = true;
  release(session);
  return next;
}

void RowCache::promote(RowSession& session, std::span<const RowId> admitted) noexcept {
  session.purpose = Purpose::Prefetch;
  session.hold = 0;
  begin(session);
  {
    const MutexLock lock{mutex_};
    for (const auto row : admitted) {
      if (is_full(session)) break;
      if (map_[row].load(std::memory_order_relaxed) != nowhere) continue;  // listed twice
      const auto slot = take_slot(session, row);
      if (slot != no_slot) start_fetch(session, row, slot);
    }
  }
  carry_out(session);
  release(session);
}

void RowCache::before_fork() noexcept {
  gate_.lock();
  mutex_.lock();
  ++waiters_;
  while (sessions_ != 0) changed_.wait(mutex_);
  --waiters_;
}

void RowCache::after_fork(bool in_child) noexcept {
  in_fork_child_ = in_child || in_fork_child_;
  mutex_.unlock();
  gate_.unlock();
}

// Checks and reports.

void RowCache::throw_no_room() const {
  std::size_t stuck = 0;
  for (std::size_t slot = 0; slot < std::size_t{shape_.slots} + shape_.staging; ++slot)
    stuck += states_[slot].stuck;
  throw OutOfTierMemory{
      "table '" + name_ + "' has no slot left in tier " + std::string{storage_.tier().name()} + ": of " +
          std::to_string(shape_.slots) + " slots and " + std::to_string(shape_.staging) + " for staging, " +
          std::to_string(stuck) + " hold rows that tier " + std::string{home_.tier().name()} +
          " does not take back (" + write_error_.message() + ")",
      write_error_};
}

void RowCache::add_statistics(TableStatistics& statistics) const {
  const MutexLock lock{mutex_};
  statistics += counters_;
}
void RowCache::reset_statistics() {
  const MutexLock lock{mutex_};
  counters_ = {};
}

void RowCache::check_invariants() const {
  const auto check = [](bool holds, const char* what) {
    if (!holds) throw std::logic_error{what};
  };
  const MutexLock lock{mutex_};
  const std::size_t slots = std::size_t{shape_.slots} + shape_.staging;
  std::size_t cached = 0, free = 0;
  for (RowId row = 0; row < layout_.rows; ++row) {
    const auto entry = map_[row].load(std::memory_order_relaxed);
    if (entry == nowhere) continue;
    check(entry < slots, "(C3) an entry of the slot map is pending, or no slot");
    check(states_[entry].row == row, "(C1) a slot does not hold the row that the map says");
    ++cached;
  }
  for (auto list : {free_, free_staging_})
    for (; list != no_slot; list = states_[list].row) ++free;
  check(cached + free == slots, "(C2) a slot is neither free nor in the map");
  check(pins_ == 0, "a slot is pinned, and nobody uses it");
  for (SlotId slot = 0; slot < slots; ++slot) {
    const auto& state = states_[slot];
    check(state.pins == 0, "a slot is pinned on its own");
    check(!state.writing, "a slot is being written back, and nobody does it");
  }
}

}  // namespace tier::detail
