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

/// A setting `table.ID=NAME` says that the rows of a table live in that tensor. Its migrations are of rows, to the table's slots
/// in fast memory and back: the tensor stays where it is.
inline constexpr std::string_view table_key = "table.";

/// For each tensor, whether it is the home of a table's rows, of which some have moved.
[[nodiscard]] TIER_EXPORT std::vector<bool> homes_of_rows(const Trace& trace);

/// A setting `rows.NUMBER=ROWS,BYTES,NAME` says so much of a table whose rows are listed.
inline constexpr std::string_view rows_key = "rows.";

struct Table {
  NameIndex name = 0;      ///< as `RowAccess::table`
  std::uint64_t rows = 0;  ///< above 0, below 2^32
  Bytes row;               ///< of one, with its state; above 0
};
/// Those that are described before their first rows, in order. Of a name that occurs twice it is the first.
[[nodiscard]] TIER_EXPORT std::vector<Table> tables_of(const Trace& trace);

}  // namespace tier::trace
