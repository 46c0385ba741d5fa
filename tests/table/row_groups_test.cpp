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

namespace tier::row_groups_test {

using detail::RowGroups;

TEST_CASE("groups are the ids in ascending order, each with its positions in ascending order") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  RowGroups groups;  // reused, as tables do
  for (const RowId rows : {1U, 2U, 2048U, 2049U, 1U << 31U, ~RowId{0}}) {
    for (const std::size_t count : {0, 1, 63, 64, 127, 128, 1023, 1024, 5000}) {
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

TEST_CASE("values are padded to cache lines only where that costs little, whatever state there is") {
  TableOptions options;
  options.rows = 10;
  for (options.state_columns = 0; options.state_columns < 3; ++options.state_columns) {
    options.dim = 64;
    CHECK(detail::row_layout(options).use.value_stride == 256);
    options.dim = 127;
    CHECK(detail::row_layout(options).use.value_stride == 512);
    options.dim = 100;
    CHECK(detail::row_layout(options).use.value_stride == 400);
  }
}

namespace {

/// Returns how many cache lines some bytes touch.
std::size_t lines(std::size_t offset, std::size_t bytes) {
  return (offset + bytes - 1) / 64 - offset / 64 + 1;
}

}  // namespace

TEST_CASE("a row's values touch no more lines, and pairs of lines, than those of a plain array") {
  const test::MemoryTier memory{{.capacity = 1_MiB}};
  const test::MemoryTier blocks{{"blocks", 1_MiB, std::chrono::nanoseconds{1}, false}};
  for (const auto storage : {RowStorage::Float, RowStorage::Half})
    for (const std::size_t states : {0, 1, 2, 5})
      for (std::size_t dim = 1; dim <= 4096; dim = dim < 140 ? dim + 1 : dim * 3 / 2 + 1) {
        TableOptions options;
        options.rows = 1000;
        options.dim = dim;
        options.state_columns = states;
        options.storage = storage;
        CAPTURE(dim);
        CAPTURE(states);
        for (const auto& layout : {detail::row_layout(options), detail::row_layout(options, memory),
                                   detail::row_layout(options, blocks)}) {
          const auto bytes = layout.values_bytes();
          CHECK(layout.use.value_stride >= bytes);
          if (layout.use.apart) CHECK(layout.use.value_stride * 32 <= bytes * 33);
          std::size_t ours = 0, plain = 0;
          for (std::size_t row = 0; row < 64; ++row) {
            ours += lines(row * layout.use.value_stride, bytes);
            plain += lines(row * bytes, bytes);
          }
          CHECK(ours <= plain);
        }
      }
}

TEST_CASE("no row, value or state lies in another's bytes, where they live and where they are used") {
  const test::MemoryTier blocks{{"blocks", 1_MiB, std::chrono::nanoseconds{1}, false}};
  const test::MemoryTier memory{{.capacity = 1_MiB}};
  for (const std::size_t states : {0, 1, 3})
    for (const std::size_t dim : {1, 2, 15, 16, 31, 33, 130, 300})
      for (const auto storage : {RowStorage::Float, RowStorage::BFloat16})
        for (const auto* tier : {&memory, &blocks}) {
          constexpr RowId rows = 20;
          TableOptions options;
          options.rows = rows;
          options.dim = dim;
          options.state_columns = states;
          options.storage = storage;
          const auto layout = detail::row_layout(options, *tier);
          const auto check = [&](std::uint64_t size, auto place) {
            std::vector<std::byte> memory_of_rows(size + 64);
            auto* const begin =
                memory_of_rows.data() + 64 - reinterpret_cast<std::uintptr_t>(memory_of_rows.data()) % 64;
            std::vector<int> used(size);
            const auto use = [&](const void* part, std::size_t bytes) {
              const auto at = static_cast<std::size_t>(static_cast<const std::byte*>(part) - begin);
              REQUIRE(at + bytes <= size);
              for (std::size_t i = 0; i < bytes; ++i) ++used[at + i];
            };
            for (RowId row = 0; row < rows; ++row) {
              const auto where = place(begin, row);
              use(where.values, layout.values_bytes());
              if (states != 0) use(where.state, layout.state_bytes());
              if (states != 0) CHECK(reinterpret_cast<std::uintptr_t>(where.state) % alignof(float) == 0);
            }
            CHECK(*std::max_element(used.begin(), used.end()) == 1);
          };
          check(layout.use.bytes(rows),
                [&](std::byte* at, RowId row) { return layout.slots(at, rows)[row]; });
          check(layout.bytes(), [&](std::byte* at, RowId row) { return layout.home(at, rows, row); });
          for (RowId row = 0; row < rows; ++row) {
            std::vector<std::byte> at(layout.bytes());
            const auto offsets = layout.home_offsets(row);
            CHECK(layout.home(at.data(), rows, row).values == at.data() + offsets.values);
          }
        }
}

}  // namespace tier::row_groups_test
