// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Whether a table is whole or has a cache, and of what size.
#include <tier/manager/manager.hpp>
#include <tier/table/table_options.hpp>

#include "table/row_layout.hpp"

namespace tier::detail {

struct TablePlan {
  bool whole = false;
  RowLayout layout;
  CacheShape shape;       ///< of a table that is not whole
  PlacedStorage storage;  ///< where the rows live
};

/// Decides, and takes room for the rows.   \throws  `ConfigError`, `OutOfTierMemory`
[[nodiscard]] TablePlan plan_table(Manager& manager, const TableOptions& options);

}  // namespace tier::detail
