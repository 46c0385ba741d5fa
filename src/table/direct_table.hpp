// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A table whose rows are used in the slower tier, too.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "table/cached_table.hpp"
#include "table/promotion_pace.hpp"

namespace tier::detail {

/// Uses each row where it is: in its slot, or in a slower tier that the CPU can address. Only the background moves rows: it
/// promotes those that the policy admits when it is told of their uses. Batches hold nothing, and announcements are ignored.
///
/// In the child of a fork it is a `CachedTable`, since rows that are in no slot belong to the parent.
/// \threadsafety  As `RowTable`.
class DirectTable : public CachedTable {
 public:
  explicit DirectTable(TableSetup& setup);

  BatchNumber announce(std::span<const RowId> ids) override;
  void prefetch(BatchNumber batch) override;
  void settle() noexcept override;

 protected:
  void gather_rows(const Gather& gather) override;
  void change_rows(BatchRecord& batch, GroupUpdate update) override;
  bool work() noexcept override;
  void before_fork() noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;
  void after_fork(bool in_child) noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;

 private:
  /// Memory that one call needs; kept for the next one.
  struct Scratch {
    std::vector<std::uint32_t> entries;
    std::vector<RowAddress> addresses;
  };

  void gather_in_place(const Gather& gather, std::vector<std::uint32_t>& entries);
  [[nodiscard]] std::size_t change_in_place(const BatchRecord& batch, GroupUpdate update,
                                            std::vector<RowAddress>& addresses);
  void count_late(std::size_t rows) noexcept;
  void count_use(std::chrono::steady_clock::time_point since) noexcept;

  ScratchPool<Scratch> scratches_;
  std::vector<RowId> admitted_;  // for the background thread only
  PromotionPace pace_;           // for the background thread only
};

}  // namespace tier::detail
