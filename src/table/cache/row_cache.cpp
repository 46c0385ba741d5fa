// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/cache/row_cache.hpp"

#include <tier/core/error.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tier::detail {
namespace {

// Rows that a prefetch examines under one hold of the lock.
constexpr std::size_t prefetch_stretch = 4096;
// Uses that the policy is told under one hold of the lock: gathers and updates may wait for it, and a policy may miss the
// CPU cache several times for each use.
constexpr std::size_t review_at_once = 32;

}  // namespace

RowCache::RowCache(Manager& manager, const RowLayout& layout, const CacheShape& shape, PlacedStorage slow,
                   std::unique_ptr<RowPolicy> policy, std::string name)
    : name_{std::move(name)},
      memory_{manager, layout, shape, name_},
      home_{layout, std::move(slow), memory_.buffers()},
      map_{memory_.map(), layout.rows},
      dirty_{memory_.dirty(), memory_.slot_count()},
      log_{memory_.log(), shape.log},
      policy_{std::move(policy), name_},
      directory_{layout, shape, memory_.states(), map_, dirty_, log_, policy_},
      placer_{memory_, home_, policy_, directory_},
      mover_{manager, memory_, home_, epochs_, lock_, directory_, name_} {}

void RowCache::write_all(FunctionRef<void(RowId, RowId, std::byte*)> fill) {
  constexpr std::size_t most = 4 << 20;
  const auto& layout = memory_.layout();
  const auto memory = memory_.before_first_fetch();
  const auto at_once = layout.most_homes(std::min(most, memory.size()));
  for (RowId first = 0; first < layout.rows; first += at_once) {
    const auto count = std::min(at_once, layout.rows - first);
    std::memset(memory.data(), 0, layout.home_bytes(count));  // padding must be the same in every run
    fill(first, count, memory.data());
    const MutexLock pass{gate_};
    const auto error = home_.write_rows(first, count, memory.data());
    if (error) throw row_error({first, error}, "cannot write the first contents of");
  }
}

// Sessions.

void RowCache::reserve(RowSession& background) const {
  background.reserve(memory_.limits(), memory_.limits().fetches);
}

void RowCache::open(RowSession& session) noexcept {
  const MutexLock pass{gate_};
  const MutexLock lock{lock_.mutex};
  sessions_.open(session);
}

std::size_t RowCache::acquire(RowSession& session, std::span<const RowId> rows,
                              std::span<RowAddress> addresses) {
  session.reserve(memory_.limits(), rows.size());  // whatever may throw comes first
  open(session);
  MutexLock lock{lock_.mutex};
  if (session.purpose == Purpose::Gather) directory_.drain_log();
  std::size_t ready = 0;
  while (ready < rows.size()) {
    const auto pinned = session.pins.size();
    const auto waited = session.waited;
    auto next = ready;
    const auto step = place_some(session, rows, addresses, next);
    bool placed = true;
    if (!session.fetches.all.empty()) {
      lock.unlock();
      placed = mover_.carry_out(session);
      lock.lock();
    }
    if (session.failure) {
      lock.unlock();
      release(session, false);
      throw row_error(session.failure,
                      is_in_fork_child() ? "the child of a fork cannot reach" : "cannot read");
    }
    if (!placed) {  // a victim could not be written back and its slot is unusable: look again
      directory_.let_go(session, pinned, false);
      lock_.changed.wake_all();
      session.waited = waited;
      continue;
    }
    const bool progress = next != ready;
    ready = next;
    if (step == RowPlacer::Step::Ready || progress) continue;
    if (ready > 0) break;
    if (step == RowPlacer::Step::Busy || directory_.slots().pins() != 0) {
      lock_.changed.wait(lock_.mutex);
    } else if (!session.force) {
      session.force = true;
    } else {
      lock.unlock();
      release(session, false);
      lock.lock();
      throw no_room_error();
    }
  }
  return ready;
}

// Places rows from `next` on, until one is not ready or the session has as many fetches as are moved at once.
RowPlacer::Step RowCache::place_some(RowSession& session, std::span<const RowId> rows,
                                     std::span<RowAddress> addresses, std::size_t& next) {
  for (; next < rows.size() && !session.fetches.is_full(memory_.limits()); ++next) {
    const auto waited = session.waited;
    const auto step = placer_.place(session, rows[next], addresses[next]);
    if (step != RowPlacer::Step::Ready) {
      session.waited = waited;  // the row will be examined again
      session.late = session.late || step == RowPlacer::Step::Busy;
      return step;
    }
    if (session.late && session.waited == waited) ++session.waited;
    session.late = session.told = false;
  }
  return RowPlacer::Step::Ready;
}

void RowCache::release(RowSession& session, bool used) noexcept {
  session.in_place.charge(slow());
  const bool changed = used && session.purpose == Purpose::Update;
  if (changed) mover_.write_staged(session);
  const MutexLock lock{lock_.mutex};
  sessions_.close(session);
  directory_.let_go(session, 0, changed);
  lock_.changed.wake_all();
}

std::size_t RowCache::prefetch(RowSession& session, BatchNumber batch, std::span<const RowId> rows,
                               bool& full) noexcept {
  session.start(Purpose::Prefetch, batch, 0);
  open(session);
  rows = rows.first(std::min(rows.size(), prefetch_stretch));
  std::size_t next = 0;
  {
    const MutexLock lock{lock_.mutex};
    full = sessions_.any_awaited();  // a prefetch must not compete for slots with a gather or an update
    const bool over = !directory_.batches().is_open(batch);  // the batch has ended meanwhile
    for (; next < rows.size() && !session.fetches.is_full(memory_.limits()) && !full && !over; ++next) {
      const auto row = rows[next];
      const auto entry = directory_.entry(row);
      if (!entry.is_nowhere()) {
        auto& state = directory_.slots()[entry.slot()];
        if (state.row == row) directory_.take_hold(state, batch);
        continue;
      }
      if (!directory_.admits(row)) continue;
      const auto slot = placer_.take_slot(session, row);
      full = slot == no_slot;
      if (full) break;
      directory_.begin_fetch(session, row, slot);
    }
  }
  // If the slow tier accepts no victim, further tries are useless. A row that cannot be read is reported when it is
  // asked for.
  if (!mover_.carry_out(session)) full = true;
  release(session);
  return next;
}

void RowCache::flush(RowSession& session) {
  if (is_in_fork_child())
    throw TierError{std::make_error_code(std::errc::operation_not_permitted),
                    "a flush of table '" + name_ + "' is not possible in the child of a fork"};
  session.start(Purpose::Flush, 0, 0);
  session.reserve(memory_.limits(), memory_.limits().moves);
  open(session);
  const auto failure = mover_.write_dirty(session);
  release(session);
  if (failure) throw row_error(failure, "cannot write back");
}

// Direct use.

// So few that all of them can be fetched at once.
std::size_t RowCache::most_reviewed() const noexcept {
  return std::min<std::size_t>(512, memory_.limits().fetches);
}

bool RowCache::review(std::vector<RowId>& admitted) noexcept {
  const auto most = most_reviewed();
  admitted.clear();
  for (std::size_t done = 0; done < most; done += review_at_once) {
    const MutexLock lock{lock_.mutex};
    if (!directory_.review_log(std::min(review_at_once, most - done), admitted)) return false;
  }
  return true;
}

void RowCache::promote(RowSession& session, std::span<const RowId> admitted) noexcept {
  session.start(Purpose::Prefetch, 0, 0);
  open(session);
  {
    const MutexLock lock{lock_.mutex};
    for (const auto row : admitted) {
      if (session.fetches.is_full(memory_.limits())) break;
      if (!directory_.entry(row).is_nowhere()) continue;  // listed twice
      const auto slot = placer_.take_slot(session, row);
      if (slot != no_slot) directory_.begin_fetch(session, row, slot);
    }
  }
  mover_.carry_out(session);
  release(session);
}

// Batches and uses.

BatchNumber RowCache::open_batch() {
  const MutexLock lock{lock_.mutex};
  return directory_.batches().open();
}

void RowCache::announce(BatchNumber batch, std::span<const RowId> rows) {
  const MutexLock lock{lock_.mutex};
  directory_.announce(batch, rows);
}

void RowCache::end_batch(BatchNumber batch, std::span<const RowId> announced, bool used) noexcept {
  if (batch == 0) return;
  const MutexLock lock{lock_.mutex};
  directory_.end_batch(batch, announced, used);
}

void RowCache::hold(BatchNumber batch, std::span<const RowId> rows, BatchNumber ending) noexcept {
  const MutexLock lock{lock_.mutex};
  directory_.hold_prefetched(batch, rows, ending);
}

void RowCache::note_uses(std::span<const RowId> rows, BatchNumber hold) noexcept {
  if (hold == 0 && log_.is_full()) return;
  const MutexLock lock{lock_.mutex};
  if (hold == 0) return log_.append(rows);
  directory_.drain_log();
  directory_.hold_used(hold, rows);
}

// Forks.

void RowCache::before_fork() noexcept {
  gate_.lock();
  lock_.mutex.lock();
  while (!sessions_.none()) lock_.changed.wait(lock_.mutex);
}

void RowCache::after_fork(bool in_child) noexcept {
  if (in_child) home_.cut_off();
  lock_.mutex.unlock();
  gate_.unlock();
}

// Reports.

TierError RowCache::row_error(const RowFailure& failure, std::string_view what) const {
  std::string message{what};
  message.append(" table '").append(name_).append("' row ").append(std::to_string(failure.row));
  return {failure.error, message.append(" in tier ").append(slow().name())};
}

OutOfTierMemory RowCache::no_room_error() const {
  const auto error = directory_.last_write_error();
  return OutOfTierMemory{
      "table '" + name_ + "' has no slot left in tier " + std::string{memory_.tier().name()} + ": " +
          std::to_string(directory_.slots().count_stuck()) + " of its " + std::to_string(shape().slots) +
          " slots and " + std::to_string(shape().staging) + " slots for staging hold rows that tier " +
          std::string{slow().name()} + " does not take back (" + error.message() + ")",
      error};
}

TableStatistics RowCache::statistics() const {
  const MutexLock lock{lock_.mutex};
  return directory_.counters();
}

void RowCache::reset_statistics() {
  const MutexLock lock{lock_.mutex};
  directory_.counters() = {};
}

void RowCache::check_invariants() const {
  const MutexLock lock{lock_.mutex};
  directory_.check_invariants();
}

}  // namespace tier::detail
