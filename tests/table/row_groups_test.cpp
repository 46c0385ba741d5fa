// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/row_groups.hpp"
#include "support/seed.hpp"
#include "table/rows/row_layout.hpp"

#include <tier/memory/tiers.hpp>

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <vector>

#include "support/memory_tier.hpp"

using namespace tier;
using detail::RowGroups;

TEST_CASE("groups are the ids in ascending order, each with its positions in ascending order") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  RowGroups groups;  // reused, as tables do
  for (const RowId rows : {1U, 2U, 2048U, 2049U, 1U << 31U}) {
    for (const std::size_t count : {0, 1, 63, 64, 65, 1023, 1024, 5000}) {
      std::vector<RowId> ids(count);
      for (auto& id : ids)
        id = static_cast<RowId>(random() % (random() % 2 == 0 ? rows : std::min(rows, 10U)));
      std::map<RowId, std::vector<std::size_t>> expected;
      for (std::size_t i = 0; i < count; ++i) expected[ids[i]].push_back(i);
      groups.build(ids, rows);
      REQUIRE(groups.rows().size() == expected.size());
      std::size_t group = 0;
      for (const auto& [row, positions] : expected) {
        CHECK(groups.rows()[group] == row);
        std::vector<std::size_t> found;
        for (const auto occurrence : groups.occurrences(group))
          found.push_back(RowGroups::position_of(occurrence));
        CHECK(found == positions);
        ++group;
      }
    }
  }
}

TEST_CASE("where the slow tier moves blocks, a block holds whole rows, or a row is whole blocks") {
  const test::MemoryTier blocks{{"blocks", 1_MiB, std::chrono::nanoseconds{1}, false}};
  for (const std::size_t dim : {1, 3, 16, 64, 100, 127, 128, 129, 1000}) {
    for (const std::size_t states : {0, 1}) {
      TableOptions options;
      options.rows = 1000;
      options.dim = dim;
      options.state_columns = states;
      const auto layout = detail::row_layout(options, blocks);
      CHECK(layout.block_bytes % 512 == 0);
      CHECK(layout.block_rows * layout.row_bytes <= layout.block_bytes);
      CHECK(layout.row_bytes >= (dim + states) * sizeof(float));
      CHECK((layout.block_rows == 1 ? layout.row_bytes == layout.block_bytes : layout.block_bytes == 512));
      const auto last = layout.blocks() - 1;
      CHECK(last * layout.block_rows + layout.rows_in(last) == 1000);
    }
  }
}

TEST_CASE("rows are padded to cache lines only where that costs little") {
  TableOptions options;
  options.rows = 10;
  options.dim = 64;
  CHECK(detail::row_layout(options).row_bytes == 256);
  options.state_columns = 1;
  CHECK(detail::row_layout(options).row_bytes == 260);
  options.dim = 127;
  options.state_columns = 0;
  CHECK(detail::row_layout(options).row_bytes == 512);
}
