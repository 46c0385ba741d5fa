// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/table_counters.hpp"

#include <algorithm>

namespace tier::detail {

void TableCounters::add_to(TableStatistics& statistics) const noexcept {
  const auto read = [](const Counter& counter) { return counter.load(std::memory_order_relaxed); };
  statistics.asked += read(asked);
  statistics.updated += read(updated);
  statistics.unique += read(unique);
  statistics.unique_missed_rows += read(unique_missed_rows);
  statistics.waited += read(waited);
  statistics.hits = statistics.asked - std::min(statistics.asked, statistics.waited);
  statistics.missed_rows += read(direct_rows);
  statistics.in_place_rows += read(direct_rows);
  statistics.in_place_bytes += read(direct_bytes);
  statistics.prefetches_stalled += read(prefetches_stalled);
  statistics.hints_dropped += read(hints_dropped);
  statistics.waited_ns += read(waited_ns);
}

void TableCounters::reset() noexcept {
  for (auto* counter : {&asked, &updated, &unique, &unique_missed_rows, &waited, &waited_ns,
                        &prefetches_stalled, &hints_dropped, &direct_rows, &direct_bytes})
    counter->store(0);
}

}  // namespace tier::detail
