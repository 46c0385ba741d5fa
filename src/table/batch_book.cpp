// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/batch_book.hpp"

#include <algorithm>

namespace tier::detail {
namespace {

std::uint64_t hash_of(std::span<const RowId> ids) noexcept {
  std::uint64_t hash = ids.size();
  for (const auto id : ids) hash = (hash ^ id) * 0x9E3779B97F4A7C15ULL;
  return hash;
}

// Confirms a match of hashes: the groups know every position.
bool has_ids(const RowGroups& groups, std::span<const RowId> ids) noexcept {
  if (groups.size() != ids.size()) return false;
  for (std::size_t row = 0; row < groups.rows().size(); ++row)
    for (const auto occurrence : groups.occurrences(row))
      if (ids[RowGroups::position_of(occurrence)] != groups.rows()[row]) return false;
  return true;
}

}  // namespace

BatchRecord* BatchBook::take() {
  const MutexLock lock{mutex_};
  if (free_.empty()) {
    records_.reserve(records_.size() + 1);
    free_.reserve(records_.size() + 1);
    announced_.reserve(records_.size() + 1);
    records_.push_back(std::make_unique<BatchRecord>());
    free_.push_back(records_.back().get());
  }
  auto* const record = free_.back();
  free_.pop_back();
  record->number = 0;
  record->map_version = BatchRecord::not_read;
  record->announced = record->prefetched = record->gathered = record->grouped = record->counted = false;
  record->wanted = record->being_read = record->over = false;
  record->cursor = 0;
  return record;
}

void BatchBook::give_back(BatchRecord* record) noexcept {
  const MutexLock lock{mutex_};
  if (record->being_read)
    record->over = true;
  else
    free_.push_back(record);
}

void BatchBook::add(BatchRecord* record, std::span<const RowId> ids) {
  record->hash = hash_of(ids);
  const MutexLock lock{mutex_};
  announced_.push_back(record);
  announced_count_.store(announced_.size(), std::memory_order_relaxed);
}

BatchRecord* BatchBook::claim(std::span<const RowId> ids) noexcept {
  if (announced_count_.load(std::memory_order_relaxed) == 0) return nullptr;
  const auto hash = hash_of(ids);
  const MutexLock lock{mutex_};
  for (auto record = announced_.begin(); record != announced_.end(); ++record)
    if ((*record)->hash == hash && has_ids((*record)->groups, ids)) return unlink(record);
  return nullptr;
}

BatchRecord* BatchBook::claim(BatchNumber number) noexcept {
  const MutexLock lock{mutex_};
  const auto record = std::find_if(announced_.begin(), announced_.end(),
                                   [&](const auto* announced) { return announced->number == number; });
  return record == announced_.end() ? nullptr : unlink(record);
}

BatchRecord* BatchBook::unlink(std::vector<BatchRecord*>::iterator record) noexcept {
  auto* const claimed = *record;
  claimed->prefetched = claimed->cursor == claimed->groups.rows().size();
  announced_.erase(record);
  announced_count_.store(announced_.size(), std::memory_order_relaxed);
  return claimed;
}

bool BatchBook::want(BatchNumber number) noexcept {
  const MutexLock lock{mutex_};
  for (auto* record : announced_) {
    if (record->number != number) continue;
    record->wanted = true;
    return record->cursor < record->groups.rows().size();
  }
  return false;
}

BatchRecord* BatchBook::begin_prefetch() noexcept {
  const MutexLock lock{mutex_};
  for (auto* record : announced_) {
    if (!record->wanted || record->cursor == record->groups.rows().size()) continue;
    record->being_read = true;
    return record;
  }
  return nullptr;
}

void BatchBook::end_prefetch(BatchRecord* record, std::size_t fetched) noexcept {
  const MutexLock lock{mutex_};
  record->being_read = false;
  record->cursor += fetched;
  if (record->over) free_.push_back(record);
}

}  // namespace tier::detail
