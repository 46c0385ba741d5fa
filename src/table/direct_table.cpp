// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/direct_table.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <numeric>

namespace tier::detail {
namespace {

/// Returns the CPU time of the calling thread, which excludes waits.
std::chrono::nanoseconds thread_time() noexcept {
  ::timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

}  // namespace

DirectTable::DirectTable(TableSetup& setup) : CachedTable{setup} {
  admitted_.reserve(cache().most_reviewed());
}

// Gathers.

void DirectTable::gather_rows(const Gather& gather) {
  if (cache().is_in_fork_child()) return CachedTable::gather_rows(gather);
  auto* const batch = gather.batch;
  if (batch == nullptr) return gather_in_place(gather, scratches_.borrow()->entries);
  batch->gathered = true;
  const auto version = cache().map_version();
  gather_in_place(gather, batch->entries);
  batch->map_version = version;
}

void DirectTable::gather_in_place(const Gather& gather, std::vector<std::uint32_t>& entries) {
  const auto since = std::chrono::steady_clock::now();
  const auto ids = gather.ids;
  entries.resize(ids.size());
  std::size_t late = 0;
  {
    const EpochGuard guard{cache().epochs()};
    const DirectRows rows{cache().direct_view(), layout().bytes(), ids.data(), entries.data()};
    late = loops().gather(rows, ids.size(), gather.offsets, gather.out, nullptr);
  }
  count_late(late);
  TableCounters::add(counters().waited, late);
  if (late != 0)
    cache().slow().charge(Direction::Read, late * layout().row_bytes, static_cast<unsigned>(late), since);
  cache().note_uses(ids, 0);
  count_use(since);
  if (cache().log_is_full() && context().is_rested()) wake();
}

// Updates.

void DirectTable::change_rows(BatchRecord& batch, GroupUpdate update) {
  if (cache().is_in_fork_child()) return CachedTable::change_rows(batch, update);
  const auto scratch = scratches_.borrow();
  scratch->addresses.resize(batch.groups.rows().size());
  const auto since = std::chrono::steady_clock::now();
  const auto late = change_in_place(batch, update, scratch->addresses);
  if (late != 0) {
    count_late(late);
    TableCounters::add(counters().unique_missed_rows, late);
    const auto bytes = late * layout().row_bytes;
    cache().slow().charge(Direction::Read, bytes, static_cast<unsigned>(late), since);
    cache().slow().charge(Direction::Write, bytes, static_cast<unsigned>(late), since);
  }
  count_use(since);
}

// Runs under the update lock, which moving rows needs too, so rows stay where they are found. If the map has not changed
// since the batch's gather, uses the entries that the gather noted: the map's lines have left the CPU cache by now. Each
// thread finds all its rows before it changes the first, because their entries are in no order, and a loop that only finds
// overlaps many cache misses.
// \return  how many rows were changed in the slow tier
std::size_t DirectTable::change_in_place(const BatchRecord& batch, GroupUpdate update,
                                         std::vector<RowAddress>& addresses) {
  const auto& groups = batch.groups;
  const auto rows = groups.rows();
  const auto writer = cache().direct_writer();
  const auto& view = writer.view();
  const bool noted = batch.map_version % 2 == 0 && batch.map_version == cache().map_version();
  const auto find = [&](IndexRange range, const auto& entry_of) {
    std::size_t late = 0;
    for (auto group = range.begin; group < range.end; ++group) {
      const auto entry = entry_of(group);
      addresses[group] = writer.at(entry, rows[group]);
      late += DirectView::home_bit(entry);
    }
    return late;
  };
  std::array<std::size_t, RowLoops::most_parts> late_of_part{};
  loops().for_each_group(rows.size(), [&](IndexRange range, std::size_t part) {
    const auto noted_entry = [&](std::size_t group) {
      return batch.entries[RowGroups::position_of(groups.occurrences(group).front())];
    };
    const auto entry = [&](std::size_t group) {
      __builtin_prefetch(view.entry_address(rows[std::min(group + entries_ahead, range.end - 1)]));
      return view.entry(rows[group]);
    };
    late_of_part[part] = noted ? find(range, noted_entry) : find(range, entry);
    loops().change_part(
        groups, range, [&](std::size_t group) { return addresses[group]; }, update, part);
  });
  return std::accumulate(late_of_part.begin(), late_of_part.end(), std::size_t{0});
}

// Batches and hints.

BatchNumber DirectTable::announce(std::span<const RowId> ids) {
  if (cache().is_in_fork_child()) return CachedTable::announce(ids);
  check_ids(ids);
  return 0;  // no row is fetched or kept for a batch
}

void DirectTable::prefetch(BatchNumber batch) {
  if (cache().is_in_fork_child()) CachedTable::prefetch(batch);
}

// The background.

void DirectTable::settle() noexcept {
  if (!cache().is_in_fork_child()) wake();  // so that the uses in the log are reviewed
  CachedTable::settle();
}

// Promotes the next rows.
bool DirectTable::work() noexcept {
  const auto since = thread_time();
  const bool log_was_full = cache().log_is_full();
  const bool more = cache().review(admitted_);
  pace_.admit(admitted_.size());
  if (!admitted_.empty()) {
    const MutexLock no_update{update_mutex()};
    cache().promote(background_session(), admitted_);
  }
  context().rest_for(pace_.rest_after(thread_time() - since));
  if (!more) pace_.end_log(log_was_full ? cache().shape().log : 0);
  return more;
}

void DirectTable::before_fork() noexcept {
  scratches_.before_fork();
  CachedTable::before_fork();
}

void DirectTable::after_fork(bool in_child) noexcept {
  CachedTable::after_fork(in_child);
  scratches_.after_fork();
}

// Counting.

void DirectTable::count_late(std::size_t rows) noexcept {
  TableCounters::add(counters().direct_rows, rows);
  TableCounters::add(counters().direct_bytes, rows * layout().row_bytes);
}

void DirectTable::count_use(std::chrono::steady_clock::time_point since) noexcept {
  context().count_use(std::chrono::steady_clock::now() - since);
}

}  // namespace tier::detail
