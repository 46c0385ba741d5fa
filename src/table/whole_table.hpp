// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A table whose rows are all in the fastest tier.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "table/table_base.hpp"

namespace tier::detail {

/// Has all rows in the fastest tier, where they stay: there is nothing to fetch, to hold or to flush, and hints are ignored.
/// Updates by several threads go side by side, in different ranges of rows.
/// \threadsafety  As `RowTable`.
class WholeTable : public TableBase {
 public:
  explicit WholeTable(TableSetup& setup)
      : TableBase{setup},
        storage_{std::move(setup.plan.storage)},
        rows_{layout().slots(storage_.address(), layout().rows)},
        range_shift_{static_cast<unsigned>(std::bit_width((std::uint64_t{layout().rows} - 1) / locks))} {}

  bool is_whole() const noexcept override { return true; }
  std::uint64_t slots() const noexcept override { return layout().rows; }
  Bytes fast_bytes() const noexcept override { return storage_.size_bytes(); }

  void flush() override {}
  BatchNumber announce(std::span<const RowId> ids) override {
    check_ids(ids);
    return 0;
  }
  void prefetch(BatchNumber /*batch*/) override {}
  void cancel(BatchNumber /*batch*/) noexcept override {}
  BatchRecord* open(std::span<const RowId> ids) override {
    check_ids(ids);
    return book().take();
  }
  void close(BatchRecord* batch) noexcept override { book().give_back(batch); }
  void check_invariants() const override {}

 protected:
  /// Sets the first contents of all rows.
  void fill(const Initial& initial) { fill_rows(initial, 0, layout().rows, storage_.address()); }

  void gather_rows(const Gather& gather) override;
  void change(std::span<const RowId> ids, BatchRecord& batch, GroupUpdate update) override;
  void change_rows(BatchRecord& batch, GroupUpdate update) override;
  void read_rows(RowId first, std::size_t count, const PartCopy& copy) override;
  bool work() noexcept override { return false; }
  void before_fork() noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;

 private:
  class Change;

  // More than threads that update at once, and few enough that a batch's locking costs little beside its rows.
  static constexpr std::size_t locks = 64;

  PlacedStorage storage_;
  RowArray rows_;
  const unsigned range_shift_;  // of a row's id: the number of its range
  std::size_t changes_under_way_ TIER_GUARDED_BY(update_mutex()) = 0;
  bool fork_waits_ TIER_GUARDED_BY(update_mutex()) = false;
  // Each is held while rows of its range are changed: the innermost locks.
  std::array<Mutex, locks> range_mutexes_;
};

}  // namespace tier::detail
