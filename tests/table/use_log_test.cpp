// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/cache/use_log.hpp"

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace tier::use_log_test {

using namespace tier::detail;

namespace {

std::vector<RowId> untold(const UseLog& log) { return {log.untold().begin(), log.untold().end()}; }

}  // namespace

TEST_CASE("a log keeps uses in their order, and drops those that it has no room for") {
  std::array<RowId, 4> memory{};
  UseLog log{memory.data(), 4};
  CHECK(untold(log).empty());
  log.append(std::vector<RowId>{7, 7, 3});
  CHECK(!log.is_full());
  log.append(std::vector<RowId>{1, 2});
  CHECK(log.is_full());
  CHECK(untold(log) == std::vector<RowId>{7, 7, 3, 1});
  log.append(std::vector<RowId>{9});
  CHECK(untold(log) == std::vector<RowId>{7, 7, 3, 1});
}

TEST_CASE("a log has room again when all of it has been told, and not before") {
  std::array<RowId, 4> memory{};
  UseLog log{memory.data(), 4};
  log.append(std::vector<RowId>{1, 2, 3, 4});
  log.note_told(3);
  CHECK(log.is_full());
  CHECK(untold(log) == std::vector<RowId>{4});
  log.note_told(1);
  CHECK(!log.is_full());
  CHECK(untold(log).empty());
  log.note_told(0);
  log.append(std::vector<RowId>{5, 6});
  CHECK(untold(log) == std::vector<RowId>{5, 6});
}

}  // namespace tier::use_log_test
