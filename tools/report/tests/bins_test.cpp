// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/bins.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "report/axis.hpp"
#include "support/seed.hpp"

namespace tier::bins_test {

using namespace tier::tool::report;

TEST_CASE("an axis covers what it is made for in at most so many bins of 1, 2 or 5 times a power of ten") {
  const auto seed = tier::test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int i = 0; i < 2000; ++i) {
    const auto begin = static_cast<Time>(random() >> (1 + random() % 63));
    const auto end = saturating_sum(begin, static_cast<Time>(random() >> (1 + random() % 63)));
    const std::size_t most = 2 + random() % 5000;
    const auto axis = make_axis(true, begin, end, most);
    CAPTURE(begin);
    CAPTURE(end);
    CAPTURE(most);
    CHECK(axis.bins >= 1);
    CHECK(axis.bins <= most);
    CHECK(axis.begin <= begin);
    CHECK(axis.end() >= end);
    CHECK(axis.begin % axis.width == 0);
    auto digit = axis.width;
    while (digit % 10 == 0) digit /= 10;
    CHECK((digit == 1 || digit == 2 || digit == 5));
    CHECK(axis.bin_of(begin) < axis.bins);
    CHECK(axis.bin_of(std::numeric_limits<Time>::max()) == axis.bins - 1);
  }
}

TEST_CASE("bins hold what a walk from one unit of time to the next adds up") {
  const auto seed = tier::test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 50; ++round) {
    const Axis axis{
        .timed = true, .begin = 100, .width = 1 + static_cast<Time>(random() % 9), .bins = 1 + random() % 40};
    SpreadBins spread{axis};
    HighestBins highest{axis};
    std::vector<double> sums(axis.bins), tops(axis.bins);
    Time level_end = 90;  // one level at a time, as callers add them
    for (int i = 0; i < 60; ++i) {
      const auto start = static_cast<Time>(90 + random() % 400),
                 end = start + static_cast<Time>(random() % 60);
      const auto amount = static_cast<double>(random() % 1000);
      spread.add(start, end, amount);
      const auto from = std::clamp(start, axis.begin, axis.end()), to = std::clamp(end, from, axis.end());
      if (from == to) sums[axis.bin_of(from)] += amount;
      for (auto t = from; t < to; ++t) sums[axis.bin_of(t)] += amount / static_cast<double>(to - from);
      const auto next = level_end + static_cast<Time>(random() % 20);
      highest.add_level(level_end, next, amount);
      for (auto t = std::max(level_end, axis.begin); t < std::min(next, axis.end()); ++t)
        tops[axis.bin_of(t)] = std::max(tops[axis.bin_of(t)], amount);
      level_end = next;
    }
    const auto found = spread.per_width();
    for (std::size_t bin = 0; bin < axis.bins; ++bin) {
      CAPTURE(bin);
      CHECK(found[bin] ==
            doctest::Approx(sums[bin] / static_cast<double>(axis.width)).epsilon(1e-9).scale(1000));
      CHECK(highest.highest()[bin] == tops[bin]);
    }
  }
}

}  // namespace tier::bins_test
