// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The loops over rows, prefetching in software: rows lie anywhere, so each would wait for memory.
#include <tier/copy/parallel_for.hpp>
#include <tier/policy/row_policy.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "table/row_cache.hpp"
#include "table/row_layout.hpp"
#include "table/row_values.hpp"

namespace tier::detail {

/// A sum begins with zeros, so that it is the same wherever it is taken.
inline void start_sum(float* out, std::size_t n) noexcept { std::memset(out, 0, n * sizeof(float)); }

// GCC takes a function that only prefetches for one without effect, and drops its calls unless they were inlined.
#define TIER_PREFETCHES inline __attribute__((always_inline))

/// All lines of a row; its last one too where the row begins within a line.
TIER_PREFETCHES void prefetch_row(const std::byte* row, std::size_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(row) & ~std::uintptr_t{63};
  for (auto line = begin; line < reinterpret_cast<std::uintptr_t>(row) + bytes; line += 64)
    __builtin_prefetch(reinterpret_cast<const void*>(line));
}

/// Finds rows of a table that is whole.
struct WholeRows {
  const std::byte* base;
  std::size_t row_bytes;

  TIER_PREFETCHES void prefetch_entry(RowId) const noexcept {}
  [[nodiscard]] const std::byte* operator()(RowId row) const noexcept { return base + row * row_bytes; }
};

/// Finds rows in a cache: one load, one test.   \pre  Inside an epoch of the cache.
struct CachedRows {
  SlotView slots;

  TIER_PREFETCHES void prefetch_entry(RowId row) const noexcept {
    __builtin_prefetch(slots.entry_address(row));
  }
  [[nodiscard]] const std::byte* operator()(RowId row) const noexcept { return slots.find(row); }
};

/// Finds every row of a cache, in a slot or where it lives.   \pre  As above.
struct DirectRows {
  DirectView rows;
  std::size_t home_bytes;

  TIER_PREFETCHES void prefetch_entry(RowId row) const noexcept {
    __builtin_prefetch(rows.entry_address(row));
  }
  [[nodiscard]] const std::byte* operator()(RowId row) const noexcept { return rows.find(row); }
  [[nodiscard]] bool is_late(const std::byte* row) const noexcept { return rows.is_at_home(row, home_bytes); }
};

/// Prefetches ahead of a loop over ids: map entries first, the rows they lead to later.
template <class Find>
class Ahead {
 public:
  TIER_PREFETCHES Ahead(const Find& find, std::span<const RowId> ids, IndexRange range,
                        std::size_t bytes) noexcept
      : find_{find}, ids_{ids}, end_{range.end}, bytes_{bytes} {
    for (auto i = range.begin; i < range.begin + entries && i < end_; ++i) find_.prefetch_entry(ids_[i]);
    for (auto i = range.begin; i < range.begin + rows && i < end_; ++i) row(i);
  }
  /// \param i  the position that is about to be used
  TIER_PREFETCHES void operator()(std::size_t i) const noexcept {
    if (i + entries < end_) find_.prefetch_entry(ids_[i + entries]);
    if (i + rows < end_) row(i + rows);
  }

 private:
  // Measured on Zen 4 over 2 GiB: rows further ahead gain nothing, nearer ones are late.
  static constexpr std::size_t rows = 18, entries = 40;

  TIER_PREFETCHES void row(std::size_t i) const noexcept {
    if (const auto* const p = find_(ids_[i])) prefetch_row(p, bytes_);
  }

  const Find find_;
  std::span<const RowId> ids_;
  std::size_t end_, bytes_;
};

/// Where a gather puts its rows.
struct Output {
  float* data;
  std::size_t dim;
  std::size_t stride;  ///< from one row to the next, in floats

  [[nodiscard]] float* operator[](std::size_t i) const noexcept { return data + i * stride; }
};

/// Copies the rows of `ids[range]` to `out[range]`.
/// \param values  the type of those in rows, see row_values.hpp
/// \return  how many were not found, `missed` has their positions; or were found in the slow tier
template <class Values, class Find>
std::size_t copy_rows(const Values values, const Find find, std::span<const RowId> ids, IndexRange range,
                      const Output out, std::uint32_t* missed) noexcept {
  const Ahead ahead{find, ids, range, values.bytes()};
  std::size_t misses = 0;
  for (auto i = range.begin; i < range.end; ++i) {
    ahead(i);
    const auto* const row = find(ids[i]);
    if (row == nullptr) [[unlikely]] {
      missed[misses++] = static_cast<std::uint32_t>(i);
      continue;
    }
    values.load(out[i], row);
    if constexpr (requires { find.is_late(row); }) misses += find.is_late(row);
  }
  return misses;
}

/// Sums the rows of bags `range`.
/// \return  how many lack a row, `missed` has their numbers; or how many rows were found in the slow tier
template <class Values, class Find>
std::size_t sum_bags(const Values values, const Find find, std::span<const RowId> ids,
                     std::span<const std::uint32_t> offsets, IndexRange range, const Output out,
                     std::uint32_t* missed) noexcept {
  const Ahead ahead{find, ids, {offsets[range.begin], offsets[range.end]}, values.bytes()};
  std::size_t misses = 0;
  for (auto bag = range.begin; bag < range.end; ++bag) {
    start_sum(out[bag], out.dim);
    bool complete = true;
    for (std::size_t i = offsets[bag]; i < offsets[bag + 1]; ++i) {
      ahead(i);
      const auto* const row = complete ? find(ids[i]) : nullptr;
      complete = row != nullptr;
      if (complete) values.add(out[bag], row);
      if constexpr (requires { find.is_late(row); }) misses += find.is_late(row);
    }
    if (!complete) missed[misses++] = static_cast<std::uint32_t>(bag);
  }
  return misses;
}

}  // namespace tier::detail
