// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/cached_rows.hpp"

#include <algorithm>
#include <utility>

namespace tier::replay {
namespace {

std::vector<RowId> each_once(std::span<const RowId> ids) {
  std::vector<RowId> rows{ids.begin(), ids.end()};
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace

RowMoves& RowMoves::operator+=(const RowMoves& other) noexcept {
  hits += other.hits;
  read_rows += other.read_rows;
  read_bytes += other.read_bytes;
  written_rows += other.written_rows;
  written_bytes += other.written_bytes;
  in_place_rows += other.in_place_rows;
  updated_rows += other.updated_rows;
  ready_at = std::max(ready_at, other.ready_at);
  return *this;
}

/// A gather may take held slots, too, rather than wait, but not those of its own batch. A policy that is told all uses
/// decides as if rows came one by one, so under it even those may go.
class CachedRows::MayGo final : public SlotFilter {
 public:
  MayGo(const CachedRows& rows, bool held, BatchNumber but_not_of) noexcept
      : rows_{rows}, held_{held}, but_not_of_{but_not_of} {}
  bool operator()(SlotId slot) const noexcept override {
    const auto& state = rows_.states_[slot];
    return !rows_.is_held(state) || (held_ && state.hold != but_not_of_);
  }

 private:
  const CachedRows& rows_;
  bool held_;
  BatchNumber but_not_of_;
};

CachedRows::CachedRows(const tier::detail::RowLayout& layout, SlotId slots, std::unique_ptr<RowPolicy> policy,
                       bool addressable)
    : layout_{layout},
      policy_{std::move(policy)},
      in_place_{policy_->uses_in_place() && addressable},
      addressable_{addressable},
      wants_all_{policy_->wanted_uses() == RowUses::All},
      map_(layout.rows, no_slot),
      states_(slots) {
  free_.reserve(slots);
  for (auto slot = slots; slot-- > 0;) free_.push_back(slot);
  policy_->attach(layout.rows, slots, *this);
}

std::size_t CachedRows::announce(BatchNumber batch, std::span<const RowId> ids) {
  if (in_place_) return 0;
  open_.push_back({.number = batch, .rows = each_once(ids)});
  policy_->on_announce(batch, open_.back().rows);
  return open_.back().rows.size();
}

/// \return  `no_slot` if there is no room
SlotId CachedRows::fetch_ahead(const Batch& batch, RowMoves& moves) {
  const auto row = batch.rows[batch.prefetched];
  auto slot = map_[row];
  if (slot == no_slot) slot = insert(row, RoomFor::Prefetch, batch.number, moves);
  if (slot != no_slot) states_[slot].hold = std::max(states_[slot].hold, batch.number);
  return slot;
}

RowMoves CachedRows::gather(BatchNumber batch, std::span<const RowId> ids) {
  end_before(batch);
  gathered_ = batch;
  if (!open_.empty() && open_.front().number == batch) open_.front().prefetched = open_.front().rows.size();
  RowMoves moves;
  for (const auto row : ids) {
    if (const auto slot = map_[row]; slot != no_slot) {
      auto& state = states_[slot];
      ++moves.hits;
      moves.ready_at = std::max(moves.ready_at, state.ready_at);
      state.hold = std::max(state.hold, batch);
      policy_->on_hit(row, slot);
      continue;
    }
    policy_->on_miss(row);
    if (in_place_) {
      ++moves.in_place_rows;
      (void)insert(row, RoomFor::Prefetch, 0, moves);
    } else if (insert(row, RoomFor::Miss, batch, moves) == no_slot) {
      addressable_ ? void(++moves.in_place_rows) : read(row, moves);
    }
  }
  last_block_ = no_block;
  return moves;
}

RowMoves CachedRows::update(std::span<const RowId> ids) {
  RowMoves moves;
  const auto batch = std::exchange(gathered_, 0);
  for (const auto row : each_once(ids)) {
    ++moves.updated_rows;
    auto slot = map_[row];
    if (slot == no_slot && !in_place_) slot = insert(row, RoomFor::Miss, batch, moves);
    if (slot != no_slot) {
      states_[slot].dirty = true;
    } else if (in_place_) {
      ++moves.in_place_rows;
    } else {
      read(row, moves);
      write_back(row, moves);
    }
  }
  last_block_ = no_block;
  end_before(batch + 1);
  return moves;
}

SlotId CachedRows::insert(RowId row, RoomFor purpose, BatchNumber hold, RowMoves& moves) {
  if (!policy_->admit(row, !free_.empty())) return no_slot;
  auto slot = no_slot;
  if (!free_.empty()) {
    slot = free_.back();
    free_.pop_back();
  } else {
    slot = policy_->victim(MayGo{*this, false, hold}, row, purpose);
    if (slot == no_slot && purpose == RoomFor::Miss)
      slot = policy_->victim(MayGo{*this, true, wants_all_ ? 0 : hold}, row, purpose);
    if (slot == no_slot) return no_slot;
    evict(slot, moves);
  }
  map_[row] = slot;
  states_[slot] = {.row = row, .hold = hold};
  policy_->on_insert(row, slot);
  read(row, moves);
  return slot;
}

void CachedRows::evict(SlotId slot, RowMoves& moves) {
  const auto row = states_[slot].row;
  if (std::exchange(states_[slot].dirty, false)) write_back(row, moves);
  map_[row] = no_slot;
  policy_->on_erase(row, slot);
}

/// Writes a row back with the other dirty rows of its block that are not held. An incomplete block is read first.
void CachedRows::write_back(RowId row, RowMoves& moves) {
  ++moves.written_rows;
  if (layout_.block_rows == 1) {
    moves.written_bytes += layout_.block_bytes;
    return;
  }
  const auto block = row / layout_.block_rows;
  RowId given = 1;
  const auto first = block * layout_.block_rows;
  for (auto other = first; other < first + layout_.rows_in(block); ++other) {
    const auto slot = map_[other];
    if (other == row || slot == no_slot || !states_[slot].dirty || is_held(states_[slot])) continue;
    states_[slot].dirty = false;
    ++given;
  }
  moves.written_rows += given - 1;
  moves.written_bytes += layout_.block_bytes;
  if (given < layout_.rows_in(block)) moves.read_bytes += layout_.block_bytes;
}

/// Consecutive rows of one block are read once.
void CachedRows::read(RowId row, RowMoves& moves) {
  ++moves.read_rows;
  const auto block = row / layout_.block_rows;
  if (layout_.block_rows > 1 && std::exchange(last_block_, block) == block) return;
  moves.read_bytes += layout_.block_bytes;
}

void CachedRows::end_before(BatchNumber batch) {
  while (!open_.empty() && open_.front().number < batch) {
    first_open_ = open_.front().number + 1;
    policy_->on_batch_end(open_.front().number, open_.front().rows);
    open_.pop_front();
  }
  first_open_ = std::max(first_open_, batch);
}

}  // namespace tier::replay
