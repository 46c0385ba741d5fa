// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hint_aware/announced_uses.hpp"

#include <bit>

namespace tier {

void AnnouncedUses::reserve(std::size_t more) {
  const std::size_t wanted = used_uses_ + more;
  if (uses_.size() < wanted) {
    const auto old = uses_.size();
    uses_.resize(std::bit_ceil(wanted));
    for (std::size_t i = uses_.size(); i-- > old;) {
      uses_[i].later = free_use_;
      free_use_ = static_cast<std::uint32_t>(i);
    }
  }
  if (entries_.size() < 2 * (rows_ + more)) rehash(std::bit_ceil(2 * (rows_ + more)));
}

bool AnnouncedUses::add(RowId row, BatchNumber batch) noexcept {
  const auto use = free_use_;
  free_use_ = uses_[use].later;
  ++used_uses_;
  uses_[use] = {batch, none};

  auto& entry = entries_[find(row)];
  if (entry.first == none) {
    entry = {row, use, use};
    ++rows_;
    return true;
  }
  uses_[entry.last].later = use;
  entry.last = use;
  return false;
}

void AnnouncedUses::remove(RowId row, BatchNumber batch) noexcept {
  if (entries_.empty()) return;
  const auto at = find(row);
  auto& entry = entries_[at];
  auto before = none;
  for (auto use = entry.first; use != none; before = use, use = uses_[use].later) {
    if (uses_[use].batch != batch) continue;
    const auto later = uses_[use].later;
    (before == none ? entry.first : uses_[before].later) = later;
    if (entry.last == use) entry.last = before;
    uses_[use].later = free_use_;
    free_use_ = use;
    --used_uses_;
    if (entry.first == none) erase(at);
    return;
  }
}

BatchNumber AnnouncedUses::next(RowId row) const noexcept {
  if (rows_ == 0) return 0;
  const auto& entry = entries_[find(row)];
  return entry.first == none ? 0 : uses_[entry.first].batch;
}

// Returns the entry of `row`, or the free one where it would go.
std::size_t AnnouncedUses::find(RowId row) const noexcept {
  const auto mask = entries_.size() - 1;
  auto at = home(row);
  while (entries_[at].first != none && entries_[at].row != row) at = (at + 1) & mask;
  return at;
}

// Removes an entry and closes the gap: moves up entries that are not at their home, so that no search ends early.
void AnnouncedUses::erase(std::size_t hole) noexcept {
  const auto mask = entries_.size() - 1;
  --rows_;
  for (auto at = (hole + 1) & mask; entries_[at].first != none; at = (at + 1) & mask) {
    if (((at - home(entries_[at].row)) & mask) < ((at - hole) & mask)) continue;
    entries_[hole] = entries_[at];
    hole = at;
  }
  entries_[hole] = {};
}

void AnnouncedUses::rehash(std::size_t size) {
  size = size < 16 ? 16 : size;
  std::vector<Entry> old(size);
  old.swap(entries_);
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(size));
  for (const auto& entry : old)
    if (entry.first != none) entries_[find(entry.row)] = entry;
}

}  // namespace tier
