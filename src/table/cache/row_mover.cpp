// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/cache/row_mover.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tier::detail {
namespace {

// Rows that a flush examines under one hold of the lock.
constexpr RowId flush_stretch = 4096;

}  // namespace

bool RowMover::carry_out(RowSession& session) noexcept {
  const bool written = write_victims(session);
  const auto& fetches = session.fetches.all;
  if (std::any_of(fetches.begin(), fetches.end(), [](const Fetch& fetch) { return fetch.old != no_row; }))
    readers_.synchronize();
  read_rows(session);
  session.fetches.clear();
  return written;
}

bool RowMover::write_victims(RowSession& session) noexcept {
  auto& fetches = session.fetches.all;
  const auto clean =
      std::partition(fetches.begin(), fetches.end(), [](const Fetch& fetch) { return fetch.write_back; });
  if (clean == fetches.begin()) return true;
  std::sort(fetches.begin(), clean, [](const Fetch& a, const Fetch& b) { return a.old < b.old; });
  list_victims(session, {fetches.begin(), clean});
  transfer(Direction::Write, session, Cause::Evict);

  const MutexLock lock{lock_.mutex};
  auto fetch = fetches.begin();
  for (const auto& move : session.moves) {
    if (fetch == clean || move.memory != memory_.slot(fetch->slot)) {
      directory_.end_write(memory_.slot_at(move.memory), move.error);  // written with a victim's block
      continue;
    }
    fetch->error = move.error;
    if (fetch->error)
      directory_.undo_eviction(session, *fetch);
    else
      directory_.end_eviction(*fetch);
    ++fetch;
  }
  const auto begun = fetches.size();
  std::erase_if(fetches, [](const Fetch& failed) { return static_cast<bool>(failed.error); });
  lock_.changed.wake_all();
  return fetches.size() == begun;
}

// Dirty rows of a victim's block are written with it, and stay, because the block is written anyway.
void RowMover::list_victims(RowSession& session, std::span<const Fetch> victims) noexcept {
  const auto& layout = memory_.layout();
  auto& moves = session.moves;
  auto room = memory_.limits().moves - victims.size();
  moves.clear();
  for (auto victim = victims.begin(); victim != victims.end();) {
    const MutexLock lock{lock_.mutex};  // for one block at a time, since others wait for it
    const auto block = victim->old / layout.block_rows;
    auto row = block * layout.block_rows;
    for (const auto end = row + layout.rows_in(block); row < end; ++row) {
      if (victim != victims.end() && victim->old == row) {
        moves.push_back({row, memory_.slot(victim->slot)});
        ++victim;
      } else if (room > 0 && directory_.may_join(row)) {
        const auto slot = directory_.slot_of(row);
        directory_.begin_write(slot);
        moves.push_back({row, memory_.slot(slot)});
        --room;
      }
    }
  }
}

void RowMover::read_rows(RowSession& session) noexcept {
  auto& moves = session.moves;
  auto& fetches = session.fetches.all;
  std::sort(fetches.begin(), fetches.end(), [](const Fetch& a, const Fetch& b) { return a.row < b.row; });
  moves.clear();
  for (const auto& fetch : fetches) moves.push_back({fetch.row, memory_.slot(fetch.slot)});
  transfer(Direction::Read, session, session.purpose == Purpose::Prefetch ? Cause::Hint : Cause::Miss);

  const MutexLock lock{lock_.mutex};
  for (std::size_t i = 0; i < moves.size(); ++i) {
    auto& fetch = fetches[i];
    fetch.error = moves[i].error;
    if (fetch.error)
      directory_.cancel_fetch(session, fetch);
    else
      directory_.end_fetch(session, fetch);
  }
  lock_.changed.wake_all();
}

void RowMover::write_staged(RowSession& session) noexcept {
  const auto& pins = session.pins;
  if (std::none_of(pins.begin(), pins.end(), [this](SlotId slot) { return memory_.is_staging(slot); }))
    return;
  auto& moves = session.moves;
  moves.clear();
  {
    const MutexLock lock{lock_.mutex};
    for (const auto slot : pins)
      if (memory_.is_staging(slot)) moves.push_back({directory_.slots()[slot].row, memory_.slot(slot)});
  }
  std::sort(moves.begin(), moves.end(), [](const RowIo& a, const RowIo& b) { return a.row < b.row; });
  transfer(Direction::Write, session, Cause::Evict);

  const MutexLock lock{lock_.mutex};
  for (const auto& move : moves) {
    const auto slot = memory_.slot_at(move.memory);
    directory_.end_write(slot, move.error);
    if (move.error) directory_.keep_in_staging(slot);
  }
}

RowFailure RowMover::write_dirty(RowSession& session) noexcept {
  RowFailure failure;
  for (RowId row = 0; row < memory_.layout().rows;) {
    row = list_dirty(session, row);
    transfer(Direction::Write, session, Cause::Evict);
    const MutexLock lock{lock_.mutex};
    for (const auto& move : session.moves) {
      if (move.error && !failure) failure = {move.row, move.error};
      directory_.end_write(memory_.slot_at(move.memory), move.error);
    }
    directory_.let_go(session, 0, false);
    lock_.changed.wake_all();
  }
  free_written_staging(session);
  return failure;
}

// Lists dirty rows in the order of their homes, for large writes.   \return  the row to continue with
RowId RowMover::list_dirty(RowSession& session, RowId row) noexcept {
  const MutexLock lock{lock_.mutex};
  session.moves.clear();
  const auto end = std::min(memory_.layout().rows, row + flush_stretch);
  while (row < end && session.moves.size() < memory_.limits().moves) {
    if (directory_.is_being_written(row)) {
      if (!session.moves.empty()) break;
      lock_.changed.wait(lock_.mutex);  // another thread writes it back, and may fail
      continue;
    }
    if (directory_.is_dirty(row)) {
      const auto slot = directory_.entry(row).slot();
      directory_.begin_write(slot);
      directory_.pin(session, slot);
      session.moves.push_back({row, memory_.slot(slot)});
    }
    ++row;
  }
  return row;
}

// Frees staging slots whose stuck rows have been written back, once no thread reads them there.
void RowMover::free_written_staging(RowSession& session) noexcept {
  auto& done = session.moves;
  done.clear();
  {
    const MutexLock lock{lock_.mutex};
    const auto& slots = directory_.slots();
    for (auto slot = slots.slots(); slot < slots.all(); ++slot) {
      if (!directory_.is_done_with_staging(slot)) continue;  // the next flush handles those in use
      done.push_back({slots[slot].row, memory_.slot(slot)});
      directory_.remove(slots[slot].row);
    }
  }
  readers_.synchronize();
  const MutexLock lock{lock_.mutex};
  for (const auto& staged : done) directory_.slots().put_free(memory_.slot_at(staged.memory));
}

void RowMover::transfer(Direction direction, RowSession& session, Cause cause) noexcept {
  if (session.moves.empty()) return;
  auto* const observer = manager_.thread_observer();
  const auto began = observer == nullptr ? 0 : now_ns();
  const auto traffic = home_.transfer(direction, session.moves, session.requests);
  const auto fast = Manager::fastest(), slow = home_.tier_index();
  if (traffic.reads != 0) manager_.count_moved(slow, fast, cause, traffic.bytes_in, traffic.reads);
  if (traffic.writes != 0) manager_.count_moved(fast, slow, cause, traffic.bytes_out, traffic.writes);
  if (observer != nullptr) [[unlikely]]
    tell_observer(*observer, traffic, cause, began);
  const MutexLock lock{lock_.mutex};
  directory_.counters().bytes_in += traffic.bytes_in;
  directory_.counters().bytes_out += traffic.bytes_out;
}

void RowMover::tell_observer(ThreadObserver& observer, const StoreTraffic& traffic, Cause cause,
                             std::uint64_t began) const noexcept {
  const RowTraffic in{table_, home_.tier_index(), Manager::fastest(), {traffic.bytes_in}, cause,
                      began,  now_ns() - began};
  auto out = in;
  std::swap(out.from, out.to);
  out.bytes = {traffic.bytes_out};
  if (traffic.reads != 0) observer.on_rows_moved(in);
  if (traffic.writes != 0) observer.on_rows_moved(out);
}

// Returns the time on the clock of the manager's events.
std::uint64_t RowMover::now_ns() const noexcept {
  const auto passed = std::chrono::steady_clock::now() - manager_.began();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(passed).count());
}

}  // namespace tier::detail
