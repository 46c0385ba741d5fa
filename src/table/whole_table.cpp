// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/whole_table.hpp"

#include <atomic>
#include <mutex>
#include <thread>

namespace tier::detail {

namespace {

constexpr unsigned places_to_begin = 8;

/// Returns another eighth of a loop for each thread, so that threads that begin at the same time meet less often.
unsigned place_to_begin() noexcept {
  static std::atomic<unsigned> threads{0};
  constexpr unsigned apart = 3;  // neighbours in number begin far from each other
  thread_local const unsigned place = threads.fetch_add(apart, std::memory_order_relaxed) % places_to_begin;
  return place;
}

}  // namespace

void WholeTable::gather_rows(const Gather& gather) {
  const WholeRows find{rows_.values, rows_.value_stride};
  loops().gather(ById<WholeRows>{find, gather.ids.data()}, gather.ids.size(), gather.offsets, gather.out,
                 nullptr);
}

/// One of the changes that go side by side. A fork waits for them, and later ones wait for it; without a condition variable,
/// because what waits there is not in the child, where its memory could not be given back.
class WholeTable::Change {
 public:
  explicit Change(WholeTable& table) : table_{table} {
    for (;; std::this_thread::yield()) {
      const MutexLock lock{table_.update_mutex()};
      if (table_.fork_waits_) continue;
      ++table_.changes_under_way_;
      return;
    }
  }
  ~Change() {
    const MutexLock lock{table_.update_mutex()};
    --table_.changes_under_way_;
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  WholeTable& table_;
};

void WholeTable::change(std::span<const RowId> ids, BatchRecord& batch, GroupUpdate update) {
  // Narrow values are rounded by how many changes came before.
  if (!loops().values().are_floats()) return TableBase::change(ids, batch, update);
  prepare_change(ids, batch);
  const Change no_fork{*this};
  change_rows(batch, update);
}

// Rows ascend, so that each range's lock is taken once or twice in a loop.
void WholeTable::change_rows(BatchRecord& batch, GroupUpdate update) {
  const auto& groups = batch.groups;
  const auto rows = groups.rows();
  const auto array = rows_;  // a copy of its own stays in registers
  const auto begin = place_to_begin();
  loops().for_each_group(rows.size(), [&](IndexRange range, std::size_t part) {
    std::unique_lock<Mutex> in_range;
    const auto change_one = [&](const RowAddress& row, std::span<const std::uint64_t> occurrences,
                                std::size_t) {
      auto& mutex = range_mutexes_[RowGroups::row_of(occurrences.front()) >> range_shift_];
      if (in_range.mutex() != &mutex) {
        if (in_range.owns_lock()) in_range.unlock();
        in_range = std::unique_lock{mutex};
      }
      update(row, occurrences, part);
    };
    const auto first = range.begin + (range.end - range.begin) * begin / places_to_begin;
    for (const auto& half : {IndexRange{first, range.end}, IndexRange{range.begin, first}})
      loops().change_part(
          groups, half, [&](std::size_t group) { return array[rows[group]]; }, change_one, part);
  });
}

void WholeTable::read_rows(RowId first, std::size_t count, const PartCopy& copy) {
  for (std::size_t i = 0; i < count; ++i) copy(i, rows_[first + i]);
}

void WholeTable::before_fork() noexcept {
  TableBase::before_fork();
  fork_waits_ = true;
  while (changes_under_way_ > 0) {
    update_mutex().unlock();
    std::this_thread::yield();
    update_mutex().lock();
  }
  fork_waits_ = false;
}

}  // namespace tier::detail
