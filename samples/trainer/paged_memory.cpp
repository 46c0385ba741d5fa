// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trainer/paged_memory.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace training {

PagedMemory::PagedMemory(std::string folder, tier::bench::Paging paging)
    : PlainMemory{[this](std::size_t bytes) { return map(bytes); }},
      folder_{std::move(folder)},
      paging_{paging} {}

/// Leaves the last page unused, so that no piece spans two files, only one of which would get its advice.
std::byte* PagedMemory::map(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  auto file = std::make_unique<tier::bench::PagedFile>(folder_, tier::Bytes{bytes + page}, paging_);
  file->start_cold();  // the file is still empty; this applies the advice
  mappings_.push_back({std::move(file), bytes});
  return mappings_.back().file->data();
}

void PagedMemory::prefetch(Slot slot) {
  const auto range = bytes_of(slot);
  for (const auto& [file, bytes] : mappings_) {
    if (!file->wants_announcements() || range.empty()) continue;
    if (range.data() >= file->data() && range.data() < file->data() + bytes)
      file->will_need(static_cast<std::size_t>(range.data() - file->data()), range.size());
  }
}

Traffic PagedMemory::traffic() const {
  const auto counts = tier::bench::paging_counts() - start_;
  auto traffic = PlainMemory::traffic();
  // The system does not tell whether reads were on time, so all count as late.
  traffic.operands.bytes_elsewhere = traffic.operands.bytes_brought =
      std::min(counts.read.count, traffic.operands.bytes);
  traffic.operands.elsewhere.reset();
  traffic.bytes_moved = {{"disk>memory", counts.read.count}, {"memory>disk", counts.written.count}};
  traffic.bytes_in = counts.read.count;
  traffic.bytes_out = counts.written.count;
  traffic.stalled_s = traffic.moving_s = std::numeric_limits<double>::quiet_NaN();
  traffic.peaks = {{"dram", counts.resident.count}};
  return traffic;
}

}  // namespace training
