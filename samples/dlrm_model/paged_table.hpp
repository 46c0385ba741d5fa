// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  An embedding table that the operating system pages: a plain table in a mapped file.
#include <harness/paged_file.hpp>

#include <chrono>

#include "plain_table.hpp"

namespace dlrm {

class PagedTable final : public PlainTable {
 public:
  /// Writes the table's initial rows to the file, and begins with none of them in memory.
  PagedTable(const TableShape& shape, std::shared_ptr<tbb::task_arena> arena,
             std::shared_ptr<tier::bench::PagedFile> file);
  /// Makes lookups after this time throw `OutOfTime`.
  void serve_until(std::chrono::steady_clock::time_point end) { end_ = end; }
  /// Announces the lookup's pages, in the paging variant that does so.
  void prefetch(const Lookup& lookup) override;
  void gather(const Lookup& lookup, std::span<float> out) override;
  void update(const Lookup& lookup, std::span<const float> gradients) override;
  void read_all(tier::FunctionRef<void(std::span<const float>)> visit) override;

  /// Returns the rows gathered and updated; a row counts once per request.
  [[nodiscard]] std::uint64_t accesses() const { return accesses_; }

 private:
  void before_piece() const override;
  void announce(std::size_t begin, std::size_t end) const;  // of ids_

  std::shared_ptr<tier::bench::PagedFile> file_;
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::time_point::max();
  std::uint64_t accesses_ = 0;
  std::vector<RowId> ids_;  // of the announced lookup; kept for its capacity
};

}  // namespace dlrm
