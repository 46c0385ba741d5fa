// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Memory that the operating system pages, as a comparison: plain memory, but in shared mappings of files.
#include <harness/paged_file.hpp>

#include <memory>
#include <string>
#include <vector>

#include "trainer/plain_memory.hpp"

namespace training {

class PagedMemory final : public PlainMemory {
 public:
  /// \param folder  on a disk
  /// \param paging  the advice to the system; with `WillNeed` prefetches are announced, too
  /// \throws        as `tier::bench::PagedFile`, when memory is first taken
  PagedMemory(std::string folder, tier::bench::Paging paging);

  void prefetch(Slot slot) override;
  [[nodiscard]] Traffic traffic() const override;

 private:
  struct Mapping {
    std::unique_ptr<tier::bench::PagedFile> file;
    std::size_t bytes = 0;
  };
  std::byte* map(std::size_t bytes);

  std::string folder_;
  tier::bench::Paging paging_;
  std::vector<Mapping> mappings_;
  tier::bench::PagingCounts start_ = tier::bench::paging_counts();
};

}  // namespace training
