// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A table whose rows live in a slower tier, and are used in slots of the fastest.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "table/cache/row_cache.hpp"
#include "table/late_rows.hpp"
#include "table/table_base.hpp"

namespace tier::detail {

/// Uses rows in a `RowCache`. A gather takes the rows that are in slots without a lock; those that are missing it fetches, or
/// reads in the slow tier. An update has all its rows in slots. Prefetches run in the background.
/// \threadsafety  As `RowTable`.
class CachedTable : public TableBase {
 public:
  explicit CachedTable(TableSetup& setup);

  bool is_whole() const noexcept override { return false; }
  std::uint64_t slots() const noexcept override { return cache_.shape().slots; }
  Bytes fast_bytes() const noexcept override { return cache_.bytes(); }

  void flush() override;
  BatchNumber announce(std::span<const RowId> ids) override;
  void prefetch(BatchNumber batch) override;
  void cancel(BatchNumber batch) noexcept override;
  BatchRecord* open(std::span<const RowId> ids) override;
  void close(BatchRecord* batch) noexcept override;

  TableStatistics statistics() const override;
  void reset_statistics() override;
  void check_invariants() const override { cache_.check_invariants(); }

 protected:
  /// Sets the first contents of all rows.   \throws  `TierError` if they cannot be written
  void fill(const Initial& initial);

  void gather_rows(const Gather& gather) override;
  void change(std::span<const RowId> ids, BatchRecord& batch, GroupUpdate update) override;
  void change_rows(BatchRecord& batch, GroupUpdate update) override;
  void read_rows(RowId first, std::size_t count, const PartCopy& copy) override;
  bool work() noexcept override;
  void before_fork() noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;
  void after_fork(bool in_child) noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;

  /// Wakes the background to look for work. If there is no background thread, drops the hint and counts it.
  void wake() noexcept;
  [[nodiscard]] RowCache& cache() noexcept { return cache_; }
  [[nodiscard]] RowSession& background_session() noexcept { return background_session_; }

 private:
  /// Memory that one call needs; kept for the next one.
  struct Scratch {
    std::vector<std::uint32_t> missed;
    LateRows late;
    std::vector<RowId> rows;
    std::vector<RowAddress> addresses;
    RowSession session;
  };
  class Resuming;

  [[nodiscard]] std::size_t gather_slots(const Gather& gather, std::uint32_t* missed);
  void serve(Scratch& scratch, const Output& out);
  /// Uses rows in slots, or where they are read in place: as many at a time as there is room for.
  /// \param use  called with the position of the first and the addresses of some
  template <class F>
  void use_rows(RowSession& session, std::span<const RowId> rows, std::vector<RowAddress>& addresses,
                const F& use);
  void resume() noexcept;
  void count_wait(std::chrono::steady_clock::time_point since) noexcept;

  RowCache cache_;
  ScratchPool<Scratch> scratches_;
  RowSession background_session_;     // for the background thread only
  std::atomic<bool> stalled_{false};  // a prefetch has found no room, and goes on when a call has ended
};

}  // namespace tier::detail
