// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tables of rows in a recording.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace tier::trace {

/// Key of a setting `table.ID=NAME`, which says that the rows of a table live in that tensor. The tensor's migrations are
/// then of rows, to the table's slots in fast memory and back; the tensor itself stays where it is.
inline constexpr std::string_view table_key = "table.";

/// Returns for each tensor whether it is the home of a table's rows, some of which have moved.
[[nodiscard]] TIER_EXPORT std::vector<bool> homes_of_rows(const Trace& trace);

/// Key of a setting `rows.NUMBER=ROWS,BYTES,NAME`, which describes a table whose rows are listed.
inline constexpr std::string_view rows_key = "rows.";

/// A table whose rows a recording lists.
struct Table {
  NameIndex name = 0;      ///< as `RowAccess::table`
  std::uint64_t rows = 0;  ///< above 0, below 2^32
  Bytes row;               ///< bytes of one row with its state; above 0
};
/// Returns the tables that settings describe and row accesses name, in order. The first setting of a name counts.
[[nodiscard]] TIER_EXPORT std::vector<Table> tables_of(const Trace& trace);

}  // namespace tier::trace
