// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  A budget shared by need, compared with the best of all ways to share it.
#include "support/message_of.hpp"
#include "support/seed.hpp"

#include <tier/core/error.hpp>
#include <tier/table/share_by_need.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace tier::share_by_need_test {

using namespace tier::test;

namespace {

using Curves = std::vector<MissRatioCurve>;

/// Returns the misses of a table's largest size within a budget; a huge number if no size fits.
double misses(const MissRatioCurve& table, std::size_t budget) {
  if (table.sizes.front().bytes.count > budget) return 1e18;
  return table.largest_in({budget}).miss_ratio * static_cast<double>(table.asked);
}

double misses(const Curves& tables, const std::vector<Bytes>& shares) {
  double sum = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) sum += misses(tables[i], shares[i].count);
  return sum;
}

/// Returns the fewest possible misses, by dynamic programming over the tables.
double fewest_misses(const Curves& tables, std::size_t budget) {
  std::vector<double> best(budget + 1, 0);
  for (const auto& table : tables) {
    std::vector<double> with(budget + 1, 1e18);
    for (std::size_t all = 0; all <= budget; ++all)
      for (std::size_t own = 0; own <= all; ++own)
        with[all] = std::min(with[all], best[all - own] + misses(table, own));
    best = with;
  }
  return best[budget];
}

/// Returns the most misses that one step along the convex hull of a curve saves.
double largest_hull_step(const MissRatioCurve& table) {
  double largest = 0;
  for (std::size_t at = 0, next = 0; at + 1 < table.sizes.size(); at = next) {
    const auto saved = [&](std::size_t to) {
      return table.sizes[at].miss_ratio - table.sizes[to].miss_ratio;
    };
    const auto slope = [&](std::size_t to) {
      return saved(to) / static_cast<double>((table.sizes[to].bytes - table.sizes[at].bytes).count);
    };
    next = at + 1;
    for (auto to = next; to < table.sizes.size(); ++to)
      if (slope(to) > slope(next)) next = to;
    largest = std::max(largest, saved(next) * static_cast<double>(table.asked));
  }
  return largest;
}

Bytes sum_of(const std::vector<Bytes>& shares) {
  Bytes sum;
  for (const auto share : shares) sum += share;
  return sum;
}

Bytes least_of(const Curves& tables) {
  Bytes sum;
  for (const auto& table : tables) sum += table.sizes.front().bytes;
  return sum;
}

class RandomCurves {
 public:
  explicit RandomCurves(std::uint64_t seed) : random_{seed} {}
  std::size_t below(std::size_t n) { return random_() % n; }

  /// Returns a curve with random distances between its sizes, whose misses fall by random amounts.
  MissRatioCurve curve() {
    MissRatioCurve curve;
    curve.asked = 1 + below(1000);
    double ratio = 1;
    Bytes bytes{1 + below(5)};
    for (auto left = 1 + below(6); left > 0; --left) {
      curve.sizes.push_back({curve.sizes.size() + 1, bytes, ratio});
      bytes += Bytes{1 + below(8)};
      ratio *= static_cast<double>(below(1000)) / 1000;
    }
    curve.sizes.push_back({curve.sizes.size() + 1, bytes, 0});
    return curve;
  }
  /// Returns a curve of sizes one byte apart, each saving no more than the one before.
  MissRatioCurve convex_curve() {
    std::vector<double> saved(2 + below(10));
    double sum = 0;
    for (auto& s : saved) sum += s = static_cast<double>(1 + below(999));
    std::sort(saved.begin(), saved.end(), std::greater{});
    MissRatioCurve curve;
    curve.asked = 1 + below(1000);
    double ratio = 1;
    for (std::size_t i = 0; i < saved.size(); ratio -= saved[i++] / std::max(sum, 1.0))
      curve.sizes.push_back({i + 1, {i + 1}, ratio});
    return curve;
  }
  template <class F>
  Curves some(const F& make) {
    Curves tables;
    for (auto n = 1 + below(5); n > 0; --n) tables.push_back(make());
    return tables;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("shares of convex curves a byte a step miss as few rows as any shares") {
  const auto seeded = seed();
  CAPTURE(seeded);
  RandomCurves random{seeded};
  for (int i = 0; i < 300; ++i) {
    const auto tables = random.some([&] { return random.convex_curve(); });
    const auto budget = least_of(tables).count + random.below(40);
    CHECK(misses(tables, share_by_need(tables, {budget})) == doctest::Approx(fewest_misses(tables, budget)));
  }
}

TEST_CASE("shares of any curves are sizes within the budget, and miss at most one step more than the best") {
  const auto seeded = seed();
  CAPTURE(seeded);
  RandomCurves random{seeded};
  int best = 0;
  for (int i = 0; i < 500; ++i) {
    const auto tables = random.some([&] { return random.curve(); });
    const auto budget = least_of(tables).count + random.below(60);
    const auto shares = share_by_need(tables, {budget});
    REQUIRE(shares.size() == tables.size());
    CHECK(sum_of(shares) <= Bytes{budget});
    double largest_step = 0;
    for (std::size_t t = 0; t < tables.size(); ++t) {
      CHECK(tables[t].largest_in(shares[t]).bytes == shares[t]);
      largest_step = std::max(largest_step, largest_hull_step(tables[t]));
    }
    const auto fewest = fewest_misses(tables, budget);
    CHECK(misses(tables, shares) >= fewest - 1e-6);
    CHECK(misses(tables, shares) <= fewest + largest_step + 1e-6);
    best += misses(tables, shares) <= fewest + 1e-6;
  }
  CHECK(best >= 250);
}

TEST_CASE("more budget never means more misses along the hulls, and enough of it holds every table whole") {
  const auto seeded = seed();
  CAPTURE(seeded);
  RandomCurves random{seeded};
  for (int i = 0; i < 50; ++i) {
    const auto tables = random.some([&] { return random.convex_curve(); });
    double before = std::numeric_limits<double>::infinity();
    for (auto budget = least_of(tables).count; budget < least_of(tables).count + 70; ++budget) {
      const auto now = misses(tables, share_by_need(tables, {budget}));
      CHECK(now <= before + 1e-9);
      before = now;
    }
    for (std::size_t t = 0; t < tables.size(); ++t)
      CHECK(share_by_need(tables, 1_KiB)[t] == tables[t].sizes.back().bytes);
  }
}

TEST_CASE("a table that is asked for more often, or saves more for a byte, gets more") {
  const auto curve = [](std::uint64_t asked, std::size_t row_bytes) {
    MissRatioCurve made;
    made.asked = asked;
    for (std::size_t i = 1; i <= 10; ++i)
      made.sizes.push_back({i, {i * row_bytes}, 1.0 / static_cast<double>(i) - (i == 10 ? 0.1 : 0)});
    return made;
  };
  const auto by_asked = share_by_need(Curves{curve(100, 10), curve(1000, 10)}, {100});
  CHECK(by_asked[0] < by_asked[1]);
  const auto by_width = share_by_need(Curves{curve(100, 10), curve(100, 40)}, {150});
  CHECK(by_width[0].count / 10 > by_width[1].count / 40);
}

TEST_CASE("where lookups cost, tables are whole sooner: as if all smaller caches missed as much more") {
  MissRatioCurve even{{{1, {10}, 1}, {2, {20}, 0.5}, {3, {40}, 0.3}}, 100, 0, 0};
  CHECK(share_by_need(Curves{even, even}, {50}) == std::vector<Bytes>{{20}, {20}});
  CHECK(share_by_need(Curves{even, even}, {50}, 1) == std::vector<Bytes>{{40}, {10}});
  const auto seeded = seed();
  CAPTURE(seeded);
  RandomCurves random{seeded};
  for (int i = 0; i < 100; ++i) {
    const auto tables = random.some([&] { return random.curve(); });
    const double lookup = static_cast<double>(random.below(8)) / 4;
    auto missing_more = tables;
    for (auto& table : missing_more)
      for (std::size_t size = 0; size + 1 < table.sizes.size(); ++size)
        table.sizes[size].miss_ratio += lookup;
    const Bytes budget{least_of(tables).count + random.below(60)};
    CHECK(share_by_need(tables, budget, lookup) == share_by_need(missing_more, budget));
  }
}

TEST_CASE("a step that does not pay by itself is taken with the one behind it") {
  MissRatioCurve cliff{{{1, {1}, 1}, {2, {5}, 1}, {3, {10}, 0}}, 1000, 0, 0};  // a loop over its rows
  MissRatioCurve slope{{{1, {1}, 1}, {2, {5}, 0.9}, {3, {10}, 0.8}, {4, {20}, 0}}, 1000, 0, 0};
  CHECK(share_by_need(Curves{cliff, slope}, {12}) == std::vector<Bytes>{{10}, {1}});
}

TEST_CASE("a budget below the least caches together is refused with both") {
  MissRatioCurve table{{{1, {100}, 1}, {10, {1000}, 0}}, 10, 0, 0};
  std::string message;
  try {
    std::ignore = share_by_need(Curves{table, table}, {199});
  } catch (const ConfigError& error) {
    message = error.what();
  }
  CHECK(message == "a budget of 199 for 2 tables is too small; their smallest caches take 200 together");
  CHECK(share_by_need(Curves{table, table}, {200}) == std::vector<Bytes>{{100}, {100}});
  CHECK(share_by_need({}, {0}).empty());
}

TEST_CASE("a curve without sizes, and a lookup that costs no number of misses, are refused") {
  const MissRatioCurve none;
  CHECK(test::message_of<ConfigError>([&] { std::ignore = none.least_for(0.5); }) ==
        "the curve has no sizes; take a curve that RowTable::advise returns");
  CHECK(test::message_of<ConfigError>([&] { std::ignore = none.largest_in({1}); }) ==
        "the curve has no sizes; take a curve that RowTable::advise returns");
  MissRatioCurve one;
  one.sizes.push_back({1, {std::size_t{1} << 63}, 0});
  CHECK(test::message_of<ConfigError>([&] {
          std::ignore = share_by_need(Curves{one, none}, {1});
        }) == "the curve of table 1 has no sizes; take a curve that RowTable::advise returns");
  CHECK(test::message_of<ConfigError>([&] {
          std::ignore = share_by_need(Curves{one, one}, {1});
        }) == "the smallest caches of 2 tables take more bytes than 64 bits can count");
  for (const double lookup : {-1.0, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_AS(std::ignore = share_by_need(Curves{one}, {1}, lookup), ConfigError);
}

}  // namespace tier::share_by_need_test
