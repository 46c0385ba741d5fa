// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The loops over rows. They prefetch in software, because rows lie anywhere, and each would wait for memory.
#include <tier/copy/parallel_for.hpp>
#include <tier/policy/row_policy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "table/cache/slot_view.hpp"
#include "table/row_values.hpp"
#include "table/rows/row_layout.hpp"

namespace tier::detail {

/// Starts a sum with zeros, so that it is the same wherever it is computed.
inline void start_sum(float* out, std::size_t n) noexcept { std::memset(out, 0, n * sizeof(float)); }

// GCC considers a function that only prefetches to have no effect, and drops its calls unless they were inlined.
#define TIER_PREFETCHES inline __attribute__((always_inline))

/// Prefetches all lines of some bytes, also if they begin within a line.
TIER_PREFETCHES void prefetch_bytes(const std::byte* data, std::size_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(data) & ~std::uintptr_t{63};
  for (auto line = begin; line < reinterpret_cast<std::uintptr_t>(data) + bytes; line += 64)
    __builtin_prefetch(reinterpret_cast<const void*>(line));
}

/// The bytes of a row that a loop uses.
struct RowBytes {
  std::size_t values, state = 0;
};

TIER_PREFETCHES void prefetch_row(const std::byte* row, const RowBytes& bytes) noexcept {
  if (row != nullptr) prefetch_bytes(row, bytes.values);
}
TIER_PREFETCHES void prefetch_row(const RowAddress& row, const RowBytes& bytes) noexcept {
  prefetch_bytes(row.values, bytes.values);
  if (bytes.state != 0) prefetch_bytes(reinterpret_cast<const std::byte*>(row.state), bytes.state);
}

/// Finds rows of a whole table.
struct WholeRows {
  const std::byte* base;
  std::size_t stride;

  TIER_PREFETCHES void prefetch_entry(RowId) const noexcept {}
  [[nodiscard]] const std::byte* operator()(RowId row) const noexcept { return base + row * stride; }
};

/// Finds rows in a cache with one load and one test.   \pre  Inside an epoch of the cache.
struct CachedRows {
  SlotView slots;

  TIER_PREFETCHES void prefetch_entry(RowId row) const noexcept {
    __builtin_prefetch(slots.entry_address(row));
  }
  [[nodiscard]] const std::byte* operator()(RowId row) const noexcept { return slots.find(row); }
};

/// Finds the rows of ids, by their positions.
template <class Find>
struct ById {
  Find find;
  const RowId* ids;

  TIER_PREFETCHES void prefetch_entry(std::size_t i) const noexcept { find.prefetch_entry(ids[i]); }
  [[nodiscard]] const std::byte* operator()(std::size_t i) const noexcept { return find(ids[i]); }
};

/// Finds every row of a cache, in a slot or in the slow tier. Notes its entry when it is prefetched, so that the map is
/// read once, and later uses read the entries side by side.   \pre  Inside an epoch of the cache.
struct DirectRows {
  DirectView rows;
  std::size_t home_bytes;
  const RowId* ids;
  std::uint32_t* entries;  ///< of the ids

  TIER_PREFETCHES void prefetch_entry(std::size_t i) const noexcept {
    __builtin_prefetch(rows.entry_address(ids[i]));
  }
  [[nodiscard]] const std::byte* look_up(std::size_t i) const noexcept {
    entries[i] = rows.entry(ids[i]);
    return (*this)(i);
  }
  /// \pre  The row has been looked up.
  [[nodiscard]] const std::byte* operator()(std::size_t i) const noexcept {
    return rows.at(entries[i], ids[i]);
  }
  [[nodiscard]] bool is_late(const std::byte* row) const noexcept { return rows.is_at_home(row, home_bytes); }
};

/// How many rows are prefetched at a time. On Emerald Rapids, over 2 GiB: between copies, 4 or 16 took a tenth longer than
/// 1; between sums, 1 or 4 took longer than 8 or 16, a third longer with bags of 8 rows of 512 bytes.
constexpr std::size_t before_copies = 1, before_arithmetic = 16;
/// The prefetch distance. Measured on Zen 4 over 2 GiB: rows further ahead gain nothing, nearer ones are late.
constexpr std::size_t rows_ahead = 18, entries_ahead = 40;

/// Prefetches ahead of a loop over rows: map entries first, the rows they lead to later.
/// \tparam Rows  gives the values of a row by its position, or null, or the place of a row; may have entries to prefetch
///               (`prefetch_entry`), and
///               rows that must be looked up first (`look_up`)
template <class Rows>
class Ahead {
 public:
  TIER_PREFETCHES Ahead(const Rows& rows, IndexRange range, RowBytes bytes, std::size_t at_once) noexcept
      : rows_{rows}, next_{range.begin}, end_{range.end}, bytes_{bytes}, at_once_{at_once} {
    prefetch_entries(next_, next_ + entries_ahead);
    prefetch_rows(next_, next_ + rows_ahead);
  }
  /// \param i  the position that is about to be used; never lower than in the last call
  TIER_PREFETCHES void operator()(std::size_t i) noexcept {
    if (i < next_) return;
    prefetch_entries(next_ + entries_ahead, next_ + entries_ahead + at_once_);
    prefetch_rows(next_ + rows_ahead, next_ + rows_ahead + at_once_);
    next_ += at_once_;
  }

 private:
  TIER_PREFETCHES void prefetch_entries(std::size_t begin, std::size_t end) const noexcept {
    if constexpr (requires { rows_.prefetch_entry(begin); })
      for (end = std::min(end, end_); begin < end; ++begin) rows_.prefetch_entry(begin);
  }
  TIER_PREFETCHES void prefetch_rows(std::size_t begin, std::size_t end) const noexcept {
    for (end = std::min(end, end_); begin < end; ++begin) prefetch_row(look_up(begin), bytes_);
  }

  TIER_PREFETCHES auto look_up(std::size_t i) const noexcept {
    if constexpr (requires { rows_.look_up(i); })
      return rows_.look_up(i);
    else
      return rows_(i);
  }

  const Rows rows_;
  std::size_t next_, end_;
  RowBytes bytes_;
  std::size_t at_once_;
};

/// The destination of a gather.
struct Output {
  float* data;
  std::size_t dim;
  std::size_t stride;  ///< from one row to the next, in floats

  [[nodiscard]] float* operator[](std::size_t i) const noexcept { return data + i * stride; }
};

/// Copies rows `range` to `out[range]`.
/// \param values  how rows store values, see row_values.hpp
/// \return  how many rows were not found, with their positions in `missed`, or how many were found in the slow tier
template <class Values, class Rows>
std::size_t copy_rows(const Values values, const Rows rows, IndexRange range, const Output out,
                      std::uint32_t* missed) noexcept {
  Ahead ahead{rows, range, RowBytes{values.bytes()}, before_copies};
  std::size_t misses = 0;
  for (auto i = range.begin; i < range.end; ++i) {
    ahead(i);
    const auto* const row = rows(i);
    if (row == nullptr) [[unlikely]] {
      missed[misses++] = static_cast<std::uint32_t>(i);
      continue;
    }
    values.load(out[i], row);
    if constexpr (requires { rows.is_late(row); }) misses += rows.is_late(row);
  }
  return misses;
}

/// Sums the rows of bags `range`.
/// \return  how many bags lack a row, with their numbers in `missed`, or how many rows were found in the slow tier
template <class Values, class Rows>
std::size_t sum_bags(const Values values, const Rows rows, std::span<const std::uint32_t> offsets,
                     IndexRange range, const Output out, std::uint32_t* missed) noexcept {
  Ahead ahead{rows, {offsets[range.begin], offsets[range.end]}, RowBytes{values.bytes()}, before_arithmetic};
  std::size_t misses = 0;
  for (auto bag = range.begin; bag < range.end; ++bag) {
    start_sum(out[bag], out.dim);
    bool complete = true;
    for (std::size_t i = offsets[bag]; i < offsets[bag + 1]; ++i) {
      ahead(i);
      const auto* const row = complete ? rows(i) : nullptr;
      complete = row != nullptr;
      if (complete) values.add(out[bag], row);
      if constexpr (requires { rows.is_late(row); }) misses += rows.is_late(row);
    }
    if (!complete) missed[misses++] = static_cast<std::uint32_t>(bag);
  }
  return misses;
}

}  // namespace tier::detail
