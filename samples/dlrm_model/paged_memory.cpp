// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "paged_memory.hpp"

#include <unistd.h>
#include <harness/shares.hpp>

#include <limits>

namespace dlrm {

using tier::bench::PagedFile;

std::unique_ptr<EmbeddingTable> PagedMemory::table(const TableShape& shape) {
  auto file = std::make_shared<PagedFile>(folder_, tier::Bytes{shape.size_bytes()}, paging_);
  auto table = std::make_unique<PagedTable>(shape, arena(), std::move(file));
  tables_.push_back(table.get());
  start();
  return table;
}

void PagedMemory::start() {
  start_ = tier::bench::paging_counts();
  if (seconds_ == 0) return;
  using Clock = std::chrono::steady_clock;
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>{seconds_});
  for (auto* table : tables_) table->serve_until(end);
}

Traffic PagedMemory::traffic() const {
  const auto counts = tier::bench::paging_counts() - start_;
  std::uint64_t accesses = 0;
  for (const auto* table : tables_) accesses += table->accesses();
  Traffic traffic;
  const auto pages = counts.read.count / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  traffic.fast_share = tier::bench::fast_share(pages, accesses);
  traffic.on_time_share = tier::bench::on_time_share(counts.waits, accesses);
  traffic.bytes_moved = {{"disk>memory", counts.read.count}, {"memory>disk", counts.written.count}};
  traffic.stalled_s = std::numeric_limits<double>::quiet_NaN();
  traffic.read_amplification = traffic.bytes_per_written_row = traffic.stalled_s;
  traffic.peak_bytes = counts.resident.count;
  return traffic;
}

}  // namespace dlrm
