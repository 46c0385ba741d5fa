// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/hold_times.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace tier::hold_times_test {

using tier::detail::HoldTimes;

/// The length of one tick.
double tick_ns() {
  HoldTimes one;
  one.add(1'000'000, false);
  return one.total_ns() / 1e6;
}

TEST_CASE("a share of holds is as long as the longest among them, or an eighth more") {
  std::mt19937_64 random{1};
  for (const unsigned bits : {2U, 4U, 10U, 40U}) {
    CAPTURE(bits);
    HoldTimes times;
    std::vector<std::uint64_t> all;
    double total = 0;
    for (int i = 0; i < 2000; ++i) {
      all.push_back(random() >> (64 - bits) >> random() % bits);
      times.add(all.back(), false);
      total += static_cast<double>(all.back());
    }
    std::ranges::sort(all);
    CHECK(times.holds() == all.size());
    CHECK(times.total_ns() == doctest::Approx(total * tick_ns()));
    CHECK(times.longest_ns() == doctest::Approx(static_cast<double>(all.back()) * tick_ns()));
    for (const std::size_t rank : {std::size_t{1}, std::size_t{1000}, std::size_t{1998}, all.size()}) {
      const auto exact = static_cast<double>(all[rank - 1]) * tick_ns();
      const auto found = times.quantile_ns(static_cast<double>(rank) / static_cast<double>(all.size()));
      CHECK(found >= exact * 0.999);
      CHECK(found <= exact * 1.126);
    }
  }
}

TEST_CASE("holds in which a policy runs count in the total alone") {
  HoldTimes times;
  times.add(100, false);
  times.add(1'000'000, true);
  CHECK(times.holds() == 2);
  CHECK(times.total_ns() == doctest::Approx(1'000'100 * tick_ns()));
  CHECK(times.longest_ns() == doctest::Approx(100 * tick_ns()));
  CHECK(times.quantile_ns(1) == times.longest_ns());
  times.reset();
  CHECK(times.holds() == 0);
  CHECK(times.quantile_ns(0.5) == 0);
}

}  // namespace tier::hold_times_test
