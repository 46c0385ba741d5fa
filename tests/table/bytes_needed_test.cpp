// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Predicted sizes of a table compared with the room that the fastest tier has less once the table is made.
#include "rig.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace tier::bytes_needed_test {

using namespace tier::test;

namespace {

/// Allocations of a tier are multiples of this: of the device's alignment for direct I/O.
std::size_t granule(const Rig& rig) { return rig.kind == Kind::Blocks ? rig.slow->io_alignment() : 64; }

Bytes used(const Rig& rig) { return rig.manager->statistics().tiers[0].used; }

}  // namespace

TEST_CASE(
    "a table takes the bytes that were said before it was made, up to a granule of the tier and what its "
    "policy allocates") {
  for (const auto kind : {Kind::Rows, Kind::Blocks}) {
    for (const std::string_view policy : {"first_touch", "lru", "hint_aware"}) {
      for (const std::uint64_t slots : {1, 7, 100, 3000}) {
        for (const std::size_t dim : {1, 16, 64, 300}) {
          CAPTURE(slots);
          CAPTURE(dim);
          const Rig rig{kind};
          auto options = rig.options(9000, dim, slots, policy);
          const auto said = bytes_needed(*rig.manager, options);
          const auto before = used(rig);
          const RowTable<float> table{rig.context, std::move(options)};
          CHECK(!table.is_whole());
          const auto placed = said.cache.total() - said.cache.policy;
          CHECK(table.fast_bytes() == placed);
          CHECK((used(rig) - before).count == round_up(placed.count, granule(rig)));
          CHECK(said.cache.map.count <= 4 * 9000);
          CHECK(said.cache.slots.count >= slots * (dim + 1) * sizeof(float));
          CHECK(said.minimum <= said.cache.total());
        }
      }
    }
  }
}

TEST_CASE("a table that is whole takes the bytes that were said, up to a granule, and no cache") {
  const Rig rig{Kind::Whole};
  for (const std::uint64_t rows : {1, 63, 1000, 9000}) {
    auto options = rig.options(rows, 30, rows);
    const auto said = bytes_needed(*rig.manager, options);
    CHECK(said.cache.total() == Bytes{0});
    const auto before = used(rig);
    const RowTable<float> table{rig.context, std::move(options)};
    CHECK(table.is_whole());
    CHECK(table.fast_bytes() == said.whole);
    CHECK((used(rig) - before).count == round_up(said.whole.count, granule(rig)));
  }
}

TEST_CASE("what a budget buys is said before, and is the most that it buys") {
  for (const auto kind : {Kind::Rows, Kind::Blocks}) {
    const Rig rig{kind};
    for (const auto budget : {80_KiB, 100_KiB, 200_KiB}) {
      auto options = rig.options(9000, 16, 0);
      options.slots.reset();
      options.budget = budget;
      const auto said = bytes_needed(*rig.manager, options);
      CHECK(said.cache.total() <= budget);
      CHECK(said.cache.total() + Bytes{2 * 512 + 64} > budget);  // one more slot, and perhaps one for staging
      const RowTable<float> table{rig.context, std::move(options)};
      CHECK(table.fast_bytes() == said.cache.total() - said.cache.policy);
    }
    auto small = rig.options(9000, 16, 0);
    small.slots.reset();
    small.budget = 1_KiB;
    const auto said = bytes_needed(*rig.manager, small);
    CHECK(said.cache.total() == Bytes{0});
    CHECK(said.minimum > 1_KiB);
  }
}

}  // namespace tier::bytes_needed_test
