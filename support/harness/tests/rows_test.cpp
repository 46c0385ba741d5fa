// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/rows.hpp"

#include <doctest/doctest.h>
#include <string>
#include <vector>

namespace {

using tier::bench::Pair;
using tier::bench::Row;

Row met() { return {.id = "some.mark", .what = "a test", .reached = true}; }

Pair pair_of(double seconds, std::uint64_t faults_ours, std::uint64_t faults_baseline) {
  return {.ours = {std::vector<double>(9, seconds), faults_ours},
          .baseline = {std::vector<double>(9, seconds), faults_baseline}};
}

}  // namespace

TEST_CASE("a median and a spread do not follow one outlier") {
  const tier::bench::Timings timings{{5, 1, 3, 2, 4, 6, 7, 8, 1000}, 0};
  CHECK(timings.median() == 5);
  CHECK(timings.spread() == doctest::Approx((7.0 - 3.0) / 2 / 5));
}

TEST_CASE("two programs are timed in turns, each as often as asked and once more to warm up") {
  std::string order;
  const Pair pair = tier::bench::time_pair(
      [&] { order += 'o'; }, [&] { order += 'b'; }, 9,
      [&](tier::bench::Side side) { order += side == tier::bench::Side::Ours ? '(' : '['; });
  CHECK(order ==
        "[b(o"
        "(o[b"
        "[b(o"
        "(o[b"
        "[b(o"
        "(o[b"
        "[b(o"
        "(o[b"
        "[b(o"
        "(o[b");
  CHECK(pair.ours.seconds.size() == 9);
  CHECK(pair.baseline.seconds.size() == 9);
}

TEST_CASE("a mark is missed when the page faults that one side has more of cost over 1 % of its time") {
  const auto faults =
      static_cast<std::uint64_t>(0.09 / tier::bench::seconds_per_fault());  // 0.09 s: 1 % of 9 x 1 s
  CHECK(checked_row(met(), pair_of(1, faults / 2, 0)).reached);
  CHECK(checked_row(met(), pair_of(1, faults * 2, faults * 2)).reached);
  CHECK_FALSE(checked_row(met(), pair_of(1, faults * 2, 0)).reached);
  CHECK_FALSE(checked_row(met(), pair_of(1, 0, faults * 2)).reached);
}

TEST_CASE("a mark that the medians miss stays missed") {
  Row missed = met();
  missed.reached = false;
  CHECK_FALSE(checked_row(missed, pair_of(1, 0, 0)).reached);
}

TEST_CASE("a row of times has the medians in its unit, and is met where the caller says so") {
  const Pair pair{.ours = {{3, 4, 5}, 0}, .baseline = {{1, 2, 3}, 0}};
  const auto row = [&](double mark) {
    return tier::bench::timed_row(met(), pair, 1e3, [&](const Row& r) { return r.ratio <= mark; });
  };
  CHECK(row(2).value == 4000);
  CHECK(row(2).baseline_value == 2000);
  CHECK(row(2).ratio == 2);
  CHECK(row(2).reached);
  CHECK_FALSE(row(1.9).reached);
}
