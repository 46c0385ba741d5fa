// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a table counts beside its cache.
#include <tier/table/table_options.hpp>

#include <atomic>
#include <cstdint>

namespace tier::detail {

/// Counts calls on a table. Members are named as in `TableStatistics`, which says what they mean.
/// \threadsafety  Atomic, each counter alone: a call that runs may be half counted.
struct TableCounters {
  using Counter = std::atomic<std::uint64_t>;

  Counter asked{0}, updated{0}, unique{0}, unique_missed_rows{0}, waited{0}, waited_ns{0};
  Counter prefetches_stalled{0}, hints_dropped{0};
  Counter direct_rows{0}, direct_bytes{0};  ///< used in the slow tier by tables that use rows in place

  static void add(Counter& counter, std::uint64_t count) noexcept {
    counter.fetch_add(count, std::memory_order_relaxed);
  }
  /// Adds these counts to those of the cache.
  void add_to(TableStatistics& statistics) const noexcept;
  void reset() noexcept;
};

}  // namespace tier::detail
