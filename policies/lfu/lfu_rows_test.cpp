// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lfu/lfu_rows.hpp"
#include "lfu/frequency_sketch.hpp"
#include "support/row_policy_rig.hpp"
#include "support/seed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tier::lfu_rows_test {

using namespace tier::test;

namespace {

/// Four slots whose rows 10 to 13 were used once.
struct FourRows {
  FourRows() {
    for (RowId row = 10; row < 14; ++row) {
      policy->on_miss(row);
      cache.insert(row, row - 10);
    }
  }
  void hit(RowId row, int times) {
    for (int i = 0; i < times; ++i) policy->on_hit(row, cache.slot_of(row));
  }
  void miss(RowId row, int times) {
    for (int i = 0; i < times; ++i) policy->on_miss(row);
  }
  std::unique_ptr<RowPolicy> policy = make_lfu_rows();
  FourSlots cache{*policy};
};

}  // namespace

TEST_CASE("lfu gives up the row that was used least, of equal ones the one used longest ago") {
  FourRows four;
  four.hit(10, 5);
  four.hit(12, 3);
  four.miss(50, 4);
  CHECK(four.cache.leaves({}, 50) == 11);
  CHECK(four.cache.leaves({1}, 50) == 13);
  four.hit(11, 1);
  CHECK(four.cache.leaves({}, 50) == 13);
  CHECK(four.cache.leaves({3}, 50) == 11);
  CHECK(four.cache.leaves({0, 1, 2, 3}, 50) == 999);
}

TEST_CASE("lfu admits a row only for one that was used less, however often it has been refused before") {
  FourRows four;
  for (RowId row = 10; row < 14; ++row) four.hit(row, 3);
  CHECK(four.policy->admit(50, true));
  for (int uses = 1; uses <= 4; ++uses) {
    four.miss(50, 1);
    CHECK(!four.policy->admit(50, false));
    CHECK(four.cache.leaves({}, 50) == 999);
  }
  four.miss(50, 1);
  CHECK(four.policy->admit(50, false));
  CHECK(four.cache.leaves({}, 50) == 10);
  four.hit(10, 1);
  CHECK(four.cache.leaves({1, 2, 3}, 50) == 999);  // it was used as often
}

TEST_CASE("lfu forgets: what was used often long ago leaves for what is used now") {
  FourRows four;
  for (RowId row = 10; row < 14; ++row) four.hit(row, 20);
  int uses = 0;
  for (; !four.policy->admit(50, false); ++uses) {
    REQUIRE(uses < 100);
    four.miss(50, 1);
  }
  CHECK(uses > 2);
  CHECK(four.cache.leaves({}, 50) == 10);
}

TEST_CASE("a sketch never estimates less than the count, and hardly more while rows are as few as slots") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  constexpr SlotId slots = 1000;
  FrequencySketch sketch{slots};
  std::vector<unsigned> counts(slots);
  const auto offset = static_cast<RowId>(random() % 1'000'000);
  std::size_t above = 0;
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 3000; ++i) {
      const auto row = static_cast<RowId>(random() % (1 + random() % slots));
      sketch.add(offset + row);
      counts[row] = std::min(counts[row] + 1, FrequencySketch::most);
    }
    above = 0;
    for (RowId row = 0; row < slots; ++row) {
      REQUIRE(sketch.estimate(offset + row) >= counts[row]);
      above += sketch.estimate(offset + row) > counts[row];
    }
    CHECK(above < slots / 10);
    sketch.halve();
    for (auto& count : counts) count /= 2;
  }
}

}  // namespace tier::lfu_rows_test
