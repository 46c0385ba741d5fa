// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The model's memory as `PlainMemory`, with the tables left to the operating system's paging.
#include <string>
#include <vector>

#include "paged_table.hpp"
#include "plain_memory.hpp"

namespace dlrm {

class PagedMemory : public PlainMemory {
 public:
  /// \param folder   of the tables' files
  /// \param seconds  that the tables serve lookups, from when the last was made; 0: for ever
  PagedMemory(std::string folder, tier::bench::Paging paging, double seconds)
      : folder_{std::move(folder)}, paging_{paging}, seconds_{seconds} {}

  std::unique_ptr<EmbeddingTable> table(const TableShape& shape);
  /// What waits and how much is read, the system tells of pages alone: a page read counts as one row fetched. How long
  /// was waited it does not tell.
  [[nodiscard]] Traffic traffic() const;

 private:
  void start();

  std::string folder_;
  tier::bench::Paging paging_;
  double seconds_;
  tier::bench::PagingCounts start_;  // when the last table was made
  std::vector<PagedTable*> tables_;  // the model's, which lives shorter
};

}  // namespace dlrm
