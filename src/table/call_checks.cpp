// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/call_checks.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

#include "table/row_arithmetic.hpp"

namespace tier::detail {
namespace {

constexpr std::size_t most_ids = std::numeric_limits<std::uint32_t>::max();  // positions have 32 bits

[[noreturn]] void refuse(const std::string& table, const std::string& problem) {
  throw std::out_of_range{"table '" + table + "': " + problem};
}

std::string at(std::size_t position) { return " at position " + std::to_string(position); }

[[noreturn]] void refuse_bags(std::span<const std::uint32_t> offsets, std::size_t ids,
                              const std::string& table) {
  if (offsets.empty())
    refuse(table, "there are no bag offsets for " + std::to_string(ids) +
                      " ids; offsets must ascend from 0 to the number of ids");
  const auto offset = [&](std::size_t i) { return "bag offset " + std::to_string(offsets[i]) + at(i); };
  if (offsets.front() != 0) refuse(table, offset(0) + "; the first must be 0");
  const auto descent = std::adjacent_find(offsets.begin(), offsets.end(), std::greater{});
  if (descent != offsets.end()) {
    const auto i = static_cast<std::size_t>(descent - offsets.begin()) + 1;
    refuse(table,
           offset(i) + " is below the " + std::to_string(*descent) + " before it; offsets must ascend");
  }
  refuse(table,
         offset(offsets.size() - 1) + "; the last must be " + std::to_string(ids) + ", the number of ids");
}

}  // namespace

void check_ids(std::span<const RowId> ids, RowId rows, const std::string& table) {
  if (ids.size() > most_ids)
    refuse(table, std::to_string(ids.size()) + " ids in one call; at most " + std::to_string(most_ids) +
                      " are possible");
  if (ids.empty() || largest_of(ids.data(), ids.size()) < rows) return;
  const auto bad = std::find_if(ids.begin(), ids.end(), [&](RowId id) { return id >= rows; });
  refuse(table, "id " + std::to_string(*bad) + at(static_cast<std::size_t>(bad - ids.begin())) +
                    " is out of range; it has " + std::to_string(rows) + " rows");
}

void check_bags(std::span<const std::uint32_t> offsets, std::size_t ids, const std::string& table) {
  if (offsets.empty() && ids == 0) return;
  if (offsets.size() > most_ids)
    refuse(table, std::to_string(offsets.size() - 1) + " bags in one call; at most " +
                      std::to_string(most_ids - 1) + " are possible");
  const bool tile = !offsets.empty() && offsets.front() == 0 && offsets.back() == ids &&
                    is_ascending(offsets.data(), offsets.size());
  if (!tile) refuse_bags(offsets, ids, table);
}

void check_floats(const Floats& floats, std::size_t rows, std::size_t dim, const std::string& table) {
  if (floats.stride < dim)
    refuse(table, "a stride of " + std::to_string(floats.stride) + " floats is too small; a row has " +
                      std::to_string(dim));
  const bool fit = rows == 0 || (floats.count >= dim && (floats.count - dim) / floats.stride >= rows - 1);
  if (fit) return;
  const auto apart = floats.stride == dim ? std::string{} : ", " + std::to_string(floats.stride) + " apart";
  refuse(table, std::string{floats.what} + " has " + std::to_string(floats.count) + " floats; [" +
                    std::to_string(rows) + ", " + std::to_string(dim) + "] are needed" + apart);
}

}  // namespace tier::detail
