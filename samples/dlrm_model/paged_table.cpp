// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "paged_table.hpp"

#include <tier/core/bytes.hpp>

#include <algorithm>
#include <boost/sort/spreadsort/integer_sort.hpp>

namespace dlrm {

PagedTable::PagedTable(const TableShape& shape, std::shared_ptr<tbb::task_arena> arena,
                       std::shared_ptr<tier::bench::PagedFile> file)
    : PlainTable{shape, std::move(arena), {file, file->data()}}, file_{std::move(file)} {
  file_->start_cold();
}

void PagedTable::before_piece() const {
  if (std::chrono::steady_clock::now() >= end_) throw OutOfTime{};
}

void PagedTable::prefetch(const Lookup& lookup) {
  if (!file_->wants_announcements()) return;
  ids_ = lookup.ids;
  boost::sort::spreadsort::integer_sort(ids_.begin(), ids_.end());
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
  try {
    in_parallel(ids_.size(), [this](std::size_t begin, std::size_t end) { announce(begin, end); });
  } catch (const OutOfTime&) {
    // The next gather throws it again.
  }
}

/// Announces with one call per stretch of neighbouring pages.
void PagedTable::announce(std::size_t begin, std::size_t end) const {
  constexpr std::size_t page = 4096;
  const auto row_bytes = shape().row_bytes();
  for (auto i = begin; i < end;) {
    const auto first = ids_[i] * row_bytes;
    auto last = first + row_bytes;
    for (++i; i < end && ids_[i] * row_bytes <= tier::round_up(last, page); ++i)
      last = (ids_[i] + 1) * row_bytes;
    file_->will_need(first, last - first);
  }
}

void PagedTable::gather(const Lookup& lookup, std::span<float> out) {
  accesses_ += lookup.ids.size();
  PlainTable::gather(lookup, out);
}

void PagedTable::update(const Lookup& lookup, std::span<const float> gradients) {
  accesses_ += lookup.ids.size();
  PlainTable::update(lookup, gradients);
}

void PagedTable::read_all(tier::FunctionRef<void(std::span<const float>)> visit) {
  file_->will_read_through();
  PlainTable::read_all(visit);
}

}  // namespace dlrm
