// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Changes rows by the sums of their gradients.
#include <tier/table/detail/table_core.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "table/row_arithmetic.hpp"
#include "table/row_groups.hpp"
#include "table/row_kernels.hpp"
#include "table/row_values.hpp"
#include "table/rows/row_layout.hpp"

namespace tier::detail {

/// The gradients of an update: a row for each id, or for each bag.
struct Gradients {
  std::span<const float> floats;
  std::size_t stride = 0;                  ///< from one row to the next, in floats
  std::span<const std::uint32_t> offsets;  ///< of bags; empty: a row for each id
};

/// Changes a row by an optimiser, given the sum of the gradients of its occurrences, in the order of the ids. Rows that are
/// stored narrower than floats are widened for it, and rounded back.
/// \threadsafety  Concurrent calls are for different rows, and have different parts.
class GradientUpdate {
 public:
  /// Memory that an update needs; kept for the next one.
  struct Scratch {
    std::vector<std::uint32_t> bag_of;
    std::vector<float> sums;       // one buffer for each part
    std::vector<float> wide_rows;  // narrow rows, one buffer for each part
  };

  /// All arguments outlive the update.
  /// \param groups   of the ids; built before rows are changed
  /// \param changes  numbers the change of the table, for stochastic rounding; read when rows are changed
  /// \param parts    how many threads call this at once, at most
  /// \throws         `std::bad_alloc`
  GradientUpdate(const RowLayout& layout, const RowValues& values, const Gradients& gradients,
                 const RowGroups& groups, std::size_t ids, RowUpdate update,
                 const std::atomic<std::uint64_t>& changes, std::size_t parts, Scratch& scratch);

  /// \param occurrences  of the row's id, see `RowGroups`   \param part  numbers the calling thread
  void operator()(const RowAddress& row, std::span<const std::uint64_t> occurrences, std::size_t part) const {
    prefetch_after(occurrences);
    const float* sum = gradient_of(occurrences.front());
    if (occurrences.size() > 1) {
      float* const own = scratch_.sums.data() + part * sum_stride_;
      std::copy_n(sum, layout_.dim, own);
      for (const auto occurrence : occurrences.subspan(1)) add_row(own, gradient_of(occurrence), layout_.dim);
      sum = own;
    }
    if (values_.are_floats()) return update_(reinterpret_cast<float*>(row.values), row.state, sum);
    update_narrow(row, RowGroups::row_of(occurrences.front()), sum,
                  scratch_.wide_rows.data() + part * wide_stride_);
  }

 private:
  static constexpr std::size_t gradients_ahead = 8;

  /// Prefetches gradients of rows that are to be changed soon: rows ascend, so that gradients are in no order.
  TIER_PREFETCHES void prefetch_after(std::span<const std::uint64_t> occurrences) const noexcept {
    const auto all = groups_.occurrences();
    const auto first = static_cast<std::size_t>(occurrences.data() - all.data()) + gradients_ahead;
    const auto end = std::min(first + occurrences.size(), all.size());
    for (auto i = first; i < end; ++i)
      prefetch_row(reinterpret_cast<const std::byte*>(gradient_of(all[i])), {layout_.dim * sizeof(float)});
  }
  [[nodiscard]] const float* gradient_of(std::uint64_t occurrence) const noexcept {
    const auto position = RowGroups::position_of(occurrence);
    const auto row = gradients_.offsets.empty() ? position : scratch_.bag_of[position];
    return gradients_.floats.data() + row * gradients_.stride;
  }
  void update_narrow(const RowAddress& row, RowId id, const float* gradient, float* wide) const;

  const RowLayout& layout_;
  const RowValues& values_;
  const Gradients gradients_;
  const RowGroups& groups_;
  const RowUpdate update_;
  const std::atomic<std::uint64_t>& changes_;
  const std::size_t sum_stride_, wide_stride_;
  Scratch& scratch_;
};

}  // namespace tier::detail
