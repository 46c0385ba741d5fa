// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The rows that a gather did not find in slots.
#include <tier/policy/row_policy.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "table/row_kernels.hpp"
#include "table/row_loops.hpp"

namespace tier::detail {

/// Lists the rows of a gather that are fetched after its first pass, with the outputs that they go to. Reused, so that its
/// memory stays.
/// \threadsafety  One thread at a time.
class LateRows {
 public:
  /// Lists the rows of these targets: rows of the output, which are bags if there are offsets.
  void list(std::span<const RowId> ids, std::span<const std::uint32_t> offsets,
            std::span<const std::uint32_t> targets);
  void list_all(std::span<const RowId> ids, std::span<const std::uint32_t> offsets);

  [[nodiscard]] std::span<const RowId> rows() const noexcept { return rows_; }
  /// Copies some of the rows, or adds them to the sums of their bags.
  /// \param first      the first of them, in `rows()`
  /// \param addresses  where their bytes are
  void deliver(std::size_t first, std::span<const RowAddress> addresses, const Output& out,
               const RowLoops& loops) const;

 private:
  struct Use {
    std::uint32_t target;
    bool first;  // of its bag, or the only one
  };

  void clear(bool sums) noexcept;
  void add(std::span<const RowId> ids, std::span<const std::uint32_t> offsets, std::size_t target);

  std::vector<RowId> rows_;
  std::vector<Use> uses_;  // of the rows
  bool sums_ = false;      // bags are summed
};

}  // namespace tier::detail
