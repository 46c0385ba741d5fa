// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Decides of which kind a table is, and the size of its cache.
#include <tier/manager/manager.hpp>
#include <tier/table/miss_ratio_curve.hpp>
#include <tier/table/table_options.hpp>

#include <cstdint>
#include <optional>

#include "table/rows/row_layout.hpp"

namespace tier::detail {

enum class TableKind : std::uint8_t {
  Whole,   ///< all rows are in the fastest tier; there is no cache
  Cached,  ///< rows live in a slower tier, and are used in slots
  Direct   ///< the same, but rows that are in no slot are used in the slower tier
};

struct TablePlan {
  TableKind kind = TableKind::Cached;
  RowLayout layout;
  CacheShape shape;       ///< unless the table is whole
  PlacedStorage storage;  ///< where the rows live
};

/// Plans a table, and allocates memory for the rows.   \throws  `ConfigError`, `OutOfTierMemory`
[[nodiscard]] TablePlan plan_table(Manager& manager, const TableOptions& options);

/// Computes what a table takes of the fastest tier, by the size of its cache.
struct CacheSizes {
  RowLayout layout;  ///< of a table with a cache
  Bytes whole_bytes;
  std::size_t policy_bytes_per_slot = 0;

  [[nodiscard]] CacheSize whole() const noexcept { return {layout.rows, whole_bytes, 0}; }
  /// Returns nothing if the whole table takes no more.
  [[nodiscard]] std::optional<CacheSize> cache(std::uint64_t slots, double miss_ratio) const noexcept;
};

/// \throws  `ConfigError` for options that no table can have
[[nodiscard]] CacheSizes cache_sizes(Manager& manager, const TableOptions& options);

}  // namespace tier::detail
