// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Loops over the rows of a call, on the threads of a context.
#include <tier/copy/parallel_for.hpp>
#include <tier/core/function_ref.hpp>
#include <tier/policy/row_policy.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "table/row_groups.hpp"
#include "table/row_kernels.hpp"
#include "table/row_values.hpp"
#include "table/rows/row_layout.hpp"

namespace tier::detail {

/// Changes the row of one group, given the occurrences of its id.   \param part  numbers the threads of the loop
using GroupUpdate =
    FunctionRef<void(const RowAddress& row, std::span<const std::uint64_t> occurrences, std::size_t part)>;

/// Runs the loops of row_kernels.hpp in parallel, if there are rows enough for it.
/// \threadsafety  As `Arena`: calls do not wait for each other.
class RowLoops {
 public:
  static constexpr std::size_t most_parts = 256;

  /// \param arena, values  outlive the loops
  RowLoops(Arena& arena, const RowValues& values, const RowLayout& layout) noexcept
      : arena_{arena}, values_{values}, bytes_{layout.values_bytes(), layout.state_bytes()} {}

  [[nodiscard]] const RowValues& values() const noexcept { return values_; }
  [[nodiscard]] unsigned threads() const noexcept { return arena_.threads(); }

  /// Calls `use` with ranges that tile `count`, and the number of each.   \param rows  how much work that is
  template <class F>
  void for_each_part(std::size_t count, std::size_t rows, const F& use) const noexcept {
    const auto parts = parts_for(rows);
    const auto body = [&](std::size_t part) { use(part_of(count, parts, part), part); };
    if (parts == 1)
      body(0);
    else
      arena_.parallel_for(parts, body);
  }

  /// Copies the rows of ids, or sums the rows of bags.
  /// \param rows         finds rows by the positions of their ids
  /// \param offsets      of bags; empty: rows are copied
  /// \param[out] missed  positions of the rows, or numbers of the bags, that were not found; null if rows cannot be missed
  /// \return             how many were not found, or how many rows were found in the slow tier
  template <class Rows>
  std::size_t gather(const Rows& rows, std::size_t ids, std::span<const std::uint32_t> offsets,
                     const Output& out, std::uint32_t* missed) const;

  /// Changes the rows of groups in `range`.   \param row_of  returns the address of a group's row
  template <class F>
  void change(const RowGroups& groups, IndexRange range, const F& row_of, GroupUpdate update) const {
    for_each_group(range.end - range.begin, [&](IndexRange part_range, std::size_t part) {
      change_part(groups, {range.begin + part_range.begin, range.begin + part_range.end}, row_of, update,
                  part);
    });
  }
  /// Calls `use` in parallel, with ranges that tile `count`.
  template <class F>
  void for_each_group(std::size_t count, const F& use) const noexcept {
    for_each_part(count, 2 * count, use);  // an update does more for each row than a gather
  }
  /// Changes the rows of groups in `range`, in the calling thread.   \tparam U  is called as a `GroupUpdate`
  template <class F, class U>
  void change_part(const RowGroups& groups, IndexRange range, const F& row_of, const U& update,
                   std::size_t part) const {
    Ahead ahead{row_of, range, bytes_, before_arithmetic};
    for (auto group = range.begin; group < range.end; ++group) {
      ahead(group);
      update(row_of(group), groups.occurrences(group), part);
    }
  }

 private:
  // Fewest rows for which another thread pays: a parallel loop costs about as much as gathering a hundred rows.
  static constexpr std::size_t rows_per_part = 1024;

  [[nodiscard]] std::size_t parts_for(std::size_t rows) const noexcept {
    return std::clamp<std::size_t>(rows / rows_per_part, 1,
                                   std::min<std::size_t>(most_parts, arena_.threads()));
  }

  Arena& arena_;
  const RowValues& values_;
  const RowBytes bytes_;
};

// Parts tile the ids, or bags. Each thread writes its misses where its own ids are; they are compacted afterwards. A missed
// bag has at least one id, so there is room for each, however many bags are empty.
template <class Rows>
std::size_t RowLoops::gather(const Rows& rows, std::size_t ids, std::span<const std::uint32_t> offsets,
                             const Output& out, std::uint32_t* missed) const {
  const auto targets = offsets.empty() ? ids : offsets.size() - 1;
  const auto parts = parts_for(ids);
  std::array<std::size_t, most_parts> misses{};
  const auto first_id = [&](std::size_t target) { return offsets.empty() ? target : offsets[target]; };
  for_each_part(targets, ids, [&](IndexRange range, std::size_t part) {
    auto* const own = missed + (missed == nullptr ? 0 : first_id(range.begin));
    misses[part] = values_.visit([&](const auto& values) {
      return offsets.empty() ? copy_rows(values, rows, range, out, own)
                             : sum_bags(values, rows, offsets, range, out, own);
    });
  });
  std::size_t total = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    if (missed != nullptr)
      std::copy_n(missed + first_id(part_of(targets, parts, part).begin), misses[part], missed + total);
    total += misses[part];
  }
  return total;
}

}  // namespace tier::detail
