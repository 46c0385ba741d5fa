// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/windows/open_ranges.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "support/seed.hpp"

namespace tier::open_ranges_test {

TEST_CASE("ranges that touch are one, and contain what lies within") {
  OpenRanges ranges;
  CHECK(!ranges.contain(0, 1));
  ranges.add(10, 20);
  ranges.add(30, 40);
  CHECK(ranges.count() == 2);
  CHECK(ranges.contain(10, 20));
  CHECK(!ranges.contain(10, 21));
  CHECK(!ranges.contain(15, 35));
  ranges.add(20, 30);
  CHECK(ranges.count() == 1);
  CHECK(ranges.contain(10, 40));
  ranges.add(0, 100);
  CHECK(ranges.count() == 1);
  CHECK(ranges.contain(0, 100));
}

TEST_CASE("ranges contain what a list of their addresses does, whatever is added and removed") {
  constexpr std::size_t size = 64;
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 200; ++round) {
    OpenRanges ranges;
    std::vector<bool> is_open(size);
    for (int step = 0; step < 12; ++step) {
      const auto begin = random() % size, end = begin + 1 + random() % (size - begin);
      const bool opens = random() % 3 != 0;
      if (opens)
        ranges.add(begin, end);
      else
        ranges.remove(begin, end);
      for (auto i = begin; i < end; ++i) is_open[i] = opens;
      const auto from = random() % size, to = from + 1 + random() % (size - from);
      bool all = true;
      for (auto i = from; i < to; ++i) all = all && is_open[i];
      REQUIRE(ranges.contain(from, to) == all);
      std::size_t runs = 0;
      for (std::size_t i = 0; i < size; ++i) runs += is_open[i] && (i == 0 || !is_open[i - 1]) ? 1 : 0;
      REQUIRE(ranges.count() == runs);
    }
  }
}

}  // namespace tier::open_ranges_test
