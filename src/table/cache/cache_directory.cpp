// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/cache/cache_directory.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tier::detail {

CacheDirectory::CacheDirectory(const RowLayout& layout, const CacheShape& shape, SlotState* states,
                               SlotMap& map, DirtyBits& dirty, UseLog& log, FailsafePolicy& policy) noexcept
    : layout_{layout}, map_{map}, dirty_{dirty}, log_{log}, policy_{policy}, slots_{shape, states, dirty} {
  policy_.attach(layout_.rows, slots_.slots(), *this);
}

SlotId CacheDirectory::slot_of(RowId row) const noexcept {
  const auto entry = map_[row];
  if (entry.is_nowhere()) return no_slot;
  const auto slot = entry.slot();
  return slots_.is_staging(slot) || slots_[slot].row != row ? no_slot : slot;
}

// Uses.

void CacheDirectory::tell_use(RowSession& session, RowId row, SlotId slot) noexcept {
  if (session.purpose != Purpose::Gather || std::exchange(session.told, true)) return;
  policy_.on_use(row, slots_.is_staging(slot) ? no_slot : slot);
}

void CacheDirectory::drain_log() noexcept {
  const auto untold = log_.untold();
  for (const auto row : untold) {
    const auto slot = slot_of(row);
    if (slot != no_slot) policy_.on_use(row, slot);
  }
  log_.note_told(untold.size());
}

bool CacheDirectory::review_log(std::size_t most, std::vector<RowId>& admitted) noexcept {
  constexpr std::size_t ahead = 16;
  const auto untold = log_.untold();
  const auto count = std::min(most, untold.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (i + ahead < untold.size()) __builtin_prefetch(map_.entry_address(untold[i + ahead]));
    const auto row = untold[i];
    policy_.on_use(row, slot_of(row));
    if (map_[row].is_nowhere() && admits(row)) admitted.push_back(row);
  }
  log_.note_told(count);
  return count < untold.size();
}

// Pins and holds.

void CacheDirectory::pin(RowSession& session, SlotId slot) noexcept {
  slots_.pin(slot, session.serial);
  session.pins.push_back(slot);
}

void CacheDirectory::let_go(RowSession& session, std::size_t kept, bool changed) noexcept {
  for (const auto slot : std::span{session.pins}.subspan(kept)) {
    slots_.unpin(slot, session.serial);
    if (!slots_.is_staging(slot)) {
      if (changed) dirty_.set(slot, true);
    } else if (const auto row = slots_[slot].row;
               map_[row] == MapEntry::on_its_way(slot)) {  // not stuck there
      remove(row);
      slots_.put_free(slot);
    }
  }
  session.pins.resize(kept);
}

void CacheDirectory::hold_used(BatchNumber batch, std::span<const RowId> rows) noexcept {
  for (const auto row : rows) {
    const auto slot = slot_of(row);
    if (slot == no_slot) continue;
    take_hold(slots_[slot], batch);
    slots_[slot].prefetched = false;
    policy_.on_use(row, slot);
  }
}

void CacheDirectory::hold_prefetched(BatchNumber batch, std::span<const RowId> rows,
                                     BatchNumber ending) noexcept {
  for (const auto row : rows) {
    const auto slot = slot_of(row);
    if (slot == no_slot) continue;
    auto& state = slots_[slot];
    if (state.hold == ending)
      state.hold = batch;
    else
      take_hold(state, batch);
  }
}

void CacheDirectory::announce(BatchNumber batch, std::span<const RowId> rows) noexcept {
  batches_.announce(batch);
  policy_.on_announce(batch, rows);
}

void CacheDirectory::end_batch(BatchNumber batch, std::span<const RowId> announced, bool used) noexcept {
  batches_.close(batch);
  for (const auto row : announced) {
    const auto slot = slot_of(row);
    if (slot == no_slot || !slots_[slot].prefetched) continue;
    // A used row has served its purpose. An unused one may be held for another batch that will use it.
    if (!used && slots_[slot].hold != batch) continue;
    slots_[slot].prefetched = false;
    counters_.prefetched_unused += !used;
  }
  if (!announced.empty()) policy_.on_batch_end(batch, announced);
}

// Fetches and evictions.

void CacheDirectory::begin_fetch(RowSession& session, RowId row, SlotId slot) {
  auto& state = slots_[slot];
  Fetch fetch{row, slot, state.row, false, state.hold, {}};
  if (fetch.old != no_row) {
    fetch.write_back = dirty_.is_dirty(slot);
    if (!fetch.write_back) remove(fetch.old);
    policy_.on_erase(fetch.old, slot);
    ++counters_.evicted_rows;
    counters_.prefetched_unused += state.prefetched && is_held(state);
  }
  state = {};
  dirty_.set(slot, false);
  state.row = row;
  state.hold = session.hold;
  state.prefetched = session.purpose == Purpose::Prefetch;
  map_.set(row, MapEntry::on_its_way(slot));
  if (!slots_.is_staging(slot)) policy_.on_insert(row, slot);
  pin(session, slot);
  session.fetches.add(fetch, layout_.block_rows);
}

void CacheDirectory::end_fetch(const RowSession& session, const Fetch& fetch) noexcept {
  counters_.bytes_wanted += layout_.used_row_bytes();
  if (session.is_awaited()) ++counters_.missed_rows;
  if (session.purpose == Purpose::Prefetch) ++counters_.prefetched_rows;
  if (slots_.is_staging(fetch.slot))
    counters_.in_place_rows += session.purpose != Purpose::Peek;
  else
    map_.set(fetch.row, MapEntry::readable(fetch.slot));
}

void CacheDirectory::cancel_fetch(RowSession& session, const Fetch& fetch) noexcept {
  remove(fetch.row);
  if (!slots_.is_staging(fetch.slot)) policy_.on_erase(fetch.row, fetch.slot);
  std::erase(session.pins, fetch.slot);
  slots_.unpin(fetch.slot, session.serial);
  slots_.put_free(fetch.slot);
  ++counters_.read_errors;
  if (!session.failure) session.failure.row = fetch.row;
  session.failure.error = fetch.error;
}

void CacheDirectory::end_eviction(const Fetch& fetch) noexcept {
  ++counters_.written_rows;
  remove(fetch.old);
}

void CacheDirectory::undo_eviction(RowSession& session, const Fetch& fetch) noexcept {
  remove(fetch.row);
  policy_.on_erase(fetch.row, fetch.slot);
  policy_.on_insert(fetch.old, fetch.slot);
  std::erase(session.pins, fetch.slot);
  slots_.unpin(fetch.slot, session.serial);
  auto& state = slots_[fetch.slot];
  state.row = fetch.old;
  state.hold = fetch.hold;
  state.prefetched = false;
  state.stuck = true;
  dirty_.set(fetch.slot, true);
  note_write_error(fetch.error);
}

// Write-backs of rows that stay.

bool CacheDirectory::may_join(RowId row) const noexcept {
  const auto slot = slot_of(row);
  if (slot == no_slot) return false;
  const auto& state = slots_[slot];
  return dirty_.is_dirty(slot) && !state.stuck && !state.writing && state.pins == 0 && !is_held(state);
}

bool CacheDirectory::is_being_written(RowId row) const noexcept {
  const auto entry = map_[row];
  if (entry.is_nowhere()) return false;
  const auto& state = slots_[entry.slot()];
  return state.row != row || state.writing;
}

void CacheDirectory::end_write(SlotId slot, std::error_code error) noexcept {
  auto& state = slots_[slot];
  state.writing = false;
  state.stuck = static_cast<bool>(error);
  dirty_.set(slot, state.stuck);
  if (error)
    note_write_error(error);
  else
    ++counters_.written_rows;
}

bool CacheDirectory::is_done_with_staging(SlotId slot) const noexcept {
  const auto& state = slots_[slot];
  const bool is_used = state.row < layout_.rows && map_[state.row] == MapEntry::readable(slot);
  return is_used && !dirty_.is_dirty(slot) && state.pins == 0;
}

void CacheDirectory::note_write_error(std::error_code error) noexcept {
  write_error_ = error;
  ++counters_.write_errors;
}

void CacheDirectory::check_invariants() const {
  const auto check = [](bool holds, const char* what) {
    if (!holds) throw std::logic_error{what};
  };
  std::size_t cached = 0;
  for (RowId row = 0; row < layout_.rows; ++row) {
    const auto entry = map_[row];
    if (entry.is_nowhere()) continue;
    check(entry.is_readable() && entry.slot() < slots_.all(),
          "(C3) an entry of the slot map is pending, or no slot");
    check(slots_[entry.slot()].row == row, "(C1) a slot does not hold the row that the map says");
    ++cached;
  }
  check(cached + slots_.count_free() == slots_.all(), "(C2) a slot is neither free nor in the map");
  check(slots_.pins() == 0, "a slot is pinned, and nobody uses it");
  for (SlotId slot = 0; slot < slots_.all(); ++slot) {
    const auto& state = slots_[slot];
    check(state.pins == 0, "a slot is pinned on its own");
    check(!state.writing, "a slot is being written back, and nobody does it");
  }
}

}  // namespace tier::detail
