// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The model's memory as in `PlainMemory`, with the tables left to the operating system's paging.
#include <string>
#include <vector>

#include "paged_table.hpp"
#include "plain_memory.hpp"

namespace dlrm {

class PagedMemory : public PlainMemory {
 public:
  /// \param folder   of the tables' files
  /// \param seconds  for which the tables serve lookups, since the last table was made; 0: without limit
  PagedMemory(std::string folder, tier::bench::Paging paging, double seconds)
      : folder_{std::move(folder)}, paging_{paging}, seconds_{seconds} {}

  std::unique_ptr<EmbeddingTable> table(const TableShape& shape);
  /// Counts by pages, because the system tells only of pages: a page read counts as one row fetched. The time spent waiting
  /// is unknown.
  [[nodiscard]] Traffic traffic() const;

 private:
  void start();

  std::string folder_;
  tier::bench::Paging paging_;
  double seconds_;
  tier::bench::PagingCounts start_;  // from the time the last table was made
  std::vector<PagedTable*> tables_;  // owned by the model, which has a shorter life
};

}  // namespace dlrm
