// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The occurrences of each row in a batch.
#include <tier/policy/row_policy.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tier::detail {

/// Groups the ids of a batch by row: its rows, each once and ascending, with the positions at which each occurs, ascending,
/// which is the order in which gradients are summed. Its memory is kept for the next batch.
class RowGroups {
 public:
  /// \pre  Every id is below `rows`.   \complexity  linear in the ids
  void build(std::span<const RowId> ids, RowId rows);

  [[nodiscard]] std::span<const RowId> rows() const noexcept { return rows_; }
  /// Returns the occurrences of a row; `position_of` each is an index into the ids.
  [[nodiscard]] std::span<const std::uint64_t> occurrences(std::size_t row) const noexcept {
    return std::span{occurrences_}.subspan(starts_[row], starts_[row + 1] - starts_[row]);
  }
  /// Returns the occurrences of all rows, one row after the other.
  [[nodiscard]] std::span<const std::uint64_t> occurrences() const noexcept { return occurrences_; }
  [[nodiscard]] static RowId row_of(std::uint64_t occurrence) noexcept {
    return static_cast<RowId>(occurrence >> 32);
  }
  [[nodiscard]] static std::size_t position_of(std::uint64_t occurrence) noexcept {
    return occurrence & 0xFFFF'FFFF;
  }
  [[nodiscard]] std::size_t size() const noexcept { return occurrences_.size(); }

 private:
  void sort(RowId rows);

  std::vector<std::uint64_t> occurrences_, spare_;  // row << 32 | position
  std::vector<RowId> rows_;
  std::vector<std::uint32_t> starts_;  // of each row's occurrences, and the end
};

}  // namespace tier::detail
