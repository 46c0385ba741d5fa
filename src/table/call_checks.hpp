// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Checks the arguments of calls on a table, which may come from data, before anything changes.
#include <tier/policy/row_policy.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tier::detail {

/// \throws  `std::out_of_range` naming table, id and bound; also for more ids than 32 bits can number
void check_ids(std::span<const RowId> ids, RowId rows, const std::string& table);

/// Checks that bags tile the ids: the offsets ascend from 0 to the number of ids.
/// \throws  `std::out_of_range` naming table, offset and bound; also for no offsets, if there are ids
void check_bags(std::span<const std::uint32_t> offsets, std::size_t ids, const std::string& table);

/// The floats that a call reads or writes.
struct Floats {
  std::string_view what;   ///< for messages
  std::size_t count = 0;   ///< floats in the span
  std::size_t stride = 0;  ///< between rows
};
/// Checks that a span has room for `rows` rows of `dim` floats.
/// \throws  `std::out_of_range` naming table, what the span has, and what is needed; also for a stride below `dim`
void check_floats(const Floats& floats, std::size_t rows, std::size_t dim, const std::string& table);

}  // namespace tier::detail
