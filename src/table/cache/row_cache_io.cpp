// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Moves the bytes of rows: writes victims back, reads missed rows, flushes.
#include <tier/core/error.hpp>
#include <tier/manager/manager.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include "table/cache/row_cache.hpp"

namespace tier::detail {
namespace {

// Rows that a flush examines under one hold of the lock.
constexpr RowId flush_stretch = 4096;

TierError row_error(const std::string& table, RowId row, Tier& tier, std::error_code error,
                    std::string_view what) {
  std::string message{what};
  message.append(" table '").append(table).append("' row ").append(std::to_string(row));
  return {error, message.append(" in tier ").append(tier.name())};
}

}  // namespace

void RowCache::write_all(FunctionRef<void(RowId, RowId, std::byte*)> fill) {
  constexpr std::size_t most = 4 << 20;
  auto* const memory = storage_.address();  // up to the states; nothing is stored there yet
  const auto room = static_cast<std::size_t>(reinterpret_cast<std::byte*>(states_) - memory);
  const auto at_once = std::max<std::size_t>(1, std::min(most, room) / layout_.block_bytes);
  for (std::size_t first = 0; first < layout_.blocks(); first += at_once) {
    const auto blocks = std::min(at_once, layout_.blocks() - first);
    const auto row = static_cast<RowId>(first * layout_.block_rows);
    const auto rows = std::min<std::size_t>(blocks * layout_.block_rows, layout_.rows - row);
    std::memset(memory, 0, blocks * layout_.block_bytes);  // padding must be the same in every run
    fill(row, static_cast<RowId>(rows), memory);
    const MutexLock pass{gate_};
    const auto error = home_.write_blocks(static_cast<RowId>(first), {memory, blocks * layout_.block_bytes});
    if (error) throw row_error(name_, row, slow(), error, "cannot write the first contents of");
  }
}

// Moves the bytes of the fetches that were begun: victims out, then rows in. \return  true if all victims were written
bool RowCache::carry_out(RowSession& session) {
  const bool written = write_victims(session);
  const auto replaces = [](const RowSession::Fetch& fetch) { return fetch.old != no_row; };
  if (std::any_of(session.fetches.begin(), session.fetches.end(), replaces)) epochs_.synchronize();
  read_rows(session);
  session.fetches.clear();
  session.blocks = 0;
  return written;
}

bool RowCache::write_victims(RowSession& session) {
  auto& fetches = session.fetches;
  const auto clean =
      std::partition(fetches.begin(), fetches.end(), [](const auto& fetch) { return fetch.write_back; });
  if (clean == fetches.begin()) return true;
  std::sort(fetches.begin(), clean, [](const auto& a, const auto& b) { return a.old < b.old; });
  list_victims(session, {fetches.begin(), clean});
  transfer(Direction::Write, session, Cause::Evict);

  const MutexLock lock{mutex_};
  auto fetch = fetches.begin();
  for (const auto& move : session.moves) {
    if (fetch == clean || move.memory != slot_address(fetch->slot)) {
      settle_written(slot_at(move.memory), move.error);  // a neighbour that was written with its block
      continue;
    }
    fetch->error = move.error;
    if (fetch->error) {
      undo(session, *fetch);
    } else {
      ++counters_.written_rows;
      set_entry(fetch->old, nowhere);
    }
    ++fetch;
  }
  const auto begun = fetches.size();
  std::erase_if(fetches, [](const auto& failed) { return static_cast<bool>(failed.error); });
  changed_.notify_all();
  return fetches.size() == begun;
}

// Dirty rows of a victim's block are written with it, and stay, because the block is written anyway.
void RowCache::list_victims(RowSession& session, std::span<const RowSession::Fetch> victims) {
  auto& moves = session.moves;
  auto room = most_moved_ - victims.size();
  moves.clear();
  for (auto victim = victims.begin(); victim != victims.end();) {
    const MutexLock lock{mutex_};  // for one block at a time, since others wait for it
    const auto block = victim->old / layout_.block_rows;
    auto row = block * layout_.block_rows;
    for (const auto end = row + layout_.rows_in(block); row < end; ++row) {
      if (victim != victims.end() && victim->old == row) {
        moves.push_back({row, slot_address(victim->slot)});
        ++victim;
      } else if (room > 0 && may_join(row)) {
        const auto slot = slot_of(row);
        states_[slot].writing = true;
        moves.push_back({row, slot_address(slot)});
        --room;
      }
    }
  }
}

// True if the row may be written with its block. Rows in use or held are left out, since updates would have to wait.
bool RowCache::may_join(RowId row) const noexcept {
  const auto slot = slot_of(row);
  if (slot == no_slot) return false;
  const auto& state = states_[slot];
  return is_dirty(slot) && !state.stuck && !state.writing && state.pins == 0 && !is_held(state);
}

// Undoes an eviction whose write-back failed: the old row stays in its slot, and nothing is lost.
void RowCache::undo(RowSession& session, const RowSession::Fetch& fetch) noexcept {
  auto& state = states_[fetch.slot];
  set_entry(fetch.row, nowhere);
  ask([&](RowPolicy& p) {
    p.on_erase(fetch.row, fetch.slot);
    p.on_insert(fetch.old, fetch.slot);
  });
  std::erase(session.pins, fetch.slot);
  unpin(fetch.slot, session.serial);
  state.row = fetch.old;
  state.hold = fetch.hold;
  state.prefetched = false;
  state.stuck = true;
  set_dirty(fetch.slot, true);
  write_error_ = fetch.error;
  ++counters_.write_errors;
}

void RowCache::read_rows(RowSession& session) {
  auto& moves = session.moves;
  auto& fetches = session.fetches;
  std::sort(fetches.begin(), fetches.end(), [](const auto& a, const auto& b) { return a.row < b.row; });
  moves.clear();
  for (const auto& fetch : fetches) moves.push_back({fetch.row, slot_address(fetch.slot)});
  const bool ahead = session.purpose == Purpose::Prefetch;
  transfer(Direction::Read, session, ahead ? Cause::Hint : Cause::Miss);

  const MutexLock lock{mutex_};
  for (std::size_t i = 0; i < moves.size(); ++i) {
    auto& fetch = fetches[i];
    fetch.error = moves[i].error;
    if (fetch.error) {
      forget(session, fetch);
      continue;
    }
    counters_.bytes_wanted += layout_.used_row_bytes();
    if (is_awaited(session)) ++counters_.missed_rows;
    if (ahead) ++counters_.prefetched_rows;
    if (is_staging(fetch.slot))
      counters_.in_place_rows += session.purpose != Purpose::Peek;
    else
      set_entry(fetch.row, fetch.slot);
  }
  changed_.notify_all();
}

// Undoes a fetch that failed: the row is in no slot.
void RowCache::forget(RowSession& session, const RowSession::Fetch& fetch) noexcept {
  set_entry(fetch.row, nowhere);
  if (!is_staging(fetch.slot)) ask([&](RowPolicy& p) { p.on_erase(fetch.row, fetch.slot); });
  std::erase(session.pins, fetch.slot);
  unpin(fetch.slot, session.serial);
  put_free(fetch.slot);
  ++counters_.read_errors;
  if (!session.failure) session.failed_row = fetch.row;
  session.failure = fetch.error;
}

// Writes rows that were updated in staging to the slow tier. If a write fails, the row stays in its staging slot.
void RowCache::write_staged(RowSession& session) noexcept {
  auto& moves = session.moves;
  moves.clear();
  const auto staged = std::partition(session.pins.begin(), session.pins.end(),
                                     [this](SlotId slot) { return !is_staging(slot); });
  if (staged == session.pins.end()) return;
  std::sort(staged, session.pins.end(),
            [this](SlotId a, SlotId b) { return states_[a].row < states_[b].row; });
  for (auto slot = staged; slot != session.pins.end(); ++slot)
    moves.push_back({states_[*slot].row, slot_address(*slot)});
  transfer(Direction::Write, session, Cause::Evict);
  const MutexLock lock{mutex_};
  for (const auto& move : moves) {
    const auto slot = slot_at(move.memory);
    auto& state = states_[slot];
    state.stuck = static_cast<bool>(move.error);
    set_dirty(slot, state.stuck);
    if (!move.error) {  // if it was stuck, it stays until a flush frees it
      ++counters_.written_rows;
      continue;
    }
    write_error_ = move.error;
    ++counters_.write_errors;
    set_entry(state.row, slot);
  }
}

void RowCache::flush(RowSession& session) {
  if (in_fork_child_)
    throw TierError{std::make_error_code(std::errc::operation_not_permitted),
                    "a flush of table '" + name_ + "' in the child of a fork"};
  session.purpose = Purpose::Flush;
  reserve(session, most_moved_);
  begin(session);
  std::error_code failure;
  RowId failed = 0;
  for (RowId row = 0; row < layout_.rows;) {
    row = list_dirty(session, row);
    transfer(Direction::Write, session, Cause::Evict);
    const MutexLock lock{mutex_};
    for (std::size_t i = 0; i < session.moves.size(); ++i) {
      const auto error = session.moves[i].error;
      if (error && !failure) failure = error, failed = states_[session.pins[i]].row;
      settle_written(session.pins[i], error);
      unpin(session.pins[i], session.serial);
    }
    session.pins.clear();
    changed_.notify_all();
  }
  free_written_staging();
  release(session);
  if (failure) throw row_error(name_, failed, slow(), failure, "cannot write back");
}

// Lists dirty rows in the order of their homes, for large writes.   \return  the row to continue with
RowId RowCache::list_dirty(RowSession& session, RowId row) {
  const MutexLock lock{mutex_};
  session.moves.clear();
  const auto end = std::min(layout_.rows, row + flush_stretch);
  while (row < end && session.moves.size() < most_moved_) {
    const auto entry = map_[row].load(std::memory_order_relaxed);
    const SlotId slot = entry & ~pending;
    if (entry != nowhere && (states_[slot].row != row || states_[slot].writing)) {
      if (!session.moves.empty()) break;
      ++waiters_;
      changed_.wait(mutex_);  // another thread writes it back, and may fail
      --waiters_;
      continue;
    }
    if (entry != nowhere && is_dirty(slot)) {
      states_[slot].writing = true;
      pin(session, slot);
      session.moves.push_back({row, slot_address(slot)});
    }
    ++row;
  }
  return row;
}

void RowCache::settle_written(SlotId slot, std::error_code error) noexcept {
  auto& state = states_[slot];
  state.writing = false;
  state.stuck = static_cast<bool>(error);
  set_dirty(slot, state.stuck);
  if (!error) {
    ++counters_.written_rows;
    return;
  }
  write_error_ = error;
  ++counters_.write_errors;
}

// Frees staging slots whose stuck rows have been written back, once no thread reads them there.
void RowCache::free_written_staging() noexcept {
  SlotId left = no_slot;
  {
    const MutexLock lock{mutex_};
    for (auto slot = shape_.slots; slot < shape_.slots + shape_.staging; ++slot) {
      auto& state = states_[slot];
      const bool is_used =
          state.row < layout_.rows && map_[state.row].load(std::memory_order_relaxed) == slot;
      if (!is_used || is_dirty(slot) || state.pins != 0) continue;  // the next flush handles those in use
      set_entry(state.row, nowhere);
      state.row = std::exchange(left, slot);
    }
  }
  epochs_.synchronize();
  const MutexLock lock{mutex_};
  while (left != no_slot) put_free(std::exchange(left, states_[left].row));
}

void RowCache::transfer(Direction direction, RowSession& session, Cause cause) noexcept {
  if (session.moves.empty()) return;
  if (in_fork_child_) {  // rows that were stuck in staging before the fork stay there
    for (auto& move : session.moves) move.error = std::make_error_code(std::errc::operation_not_permitted);
    return;
  }
  auto* const observer = manager_.thread_observer();
  const auto began = observer == nullptr ? 0 : now_ns();
  const auto traffic = home_.transfer(direction, session.moves, session.requests);
  const auto fast = Manager::fastest(), slow = home_.tier_index();
  if (traffic.reads != 0) manager_.count_moved(slow, fast, cause, traffic.bytes_in, traffic.reads);
  if (traffic.writes != 0) manager_.count_moved(fast, slow, cause, traffic.bytes_out, traffic.writes);
  if (observer != nullptr) [[unlikely]] {
    const RowTraffic in{name_, slow, fast, {traffic.bytes_in}, cause, began, now_ns() - began};
    auto out = in;
    std::swap(out.from, out.to);
    out.bytes = {traffic.bytes_out};
    if (traffic.reads != 0) observer->on_rows_moved(in);
    if (traffic.writes != 0) observer->on_rows_moved(out);
  }
  const MutexLock lock{mutex_};
  counters_.bytes_in += traffic.bytes_in;
  counters_.bytes_out += traffic.bytes_out;
}

void RowCache::throw_unreadable(const RowSession& session) const {
  throw row_error(name_, session.failed_row, home_.tier(), session.failure,
                  in_fork_child_ ? "the child of a fork cannot reach" : "cannot read");
}

}  // namespace tier::detail
