// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  A table's advice about the size of its cache, compared with tables of that size.
#include "lru_model.hpp"
#include "rig.hpp"
#include "support/message_of.hpp"

#include <tier/core/error.hpp>
#include <tier/table/cache_advisor.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace tier::advise_test {

using namespace tier::test;

namespace {

RowTable<float> sampled_table(const Rig& rig, std::uint64_t rows, std::uint64_t slots, std::size_t sample,
                              std::string_view policy = "lru", std::size_t dim = 4) {
  auto options = rig.options(rows, dim, slots, policy);
  options.sample = sample;
  return RowTable<float>{rig.context, std::move(options)};
}

void gather_in_batches(RowTable<float>& table, std::span<const RowId> ids) {
  for (; !ids.empty(); ids = ids.subspan(std::min<std::size_t>(ids.size(), 50)))
    gather(table,
           {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(ids.size(), 50))});
}

/// Returns the miss ratio of the largest size with at most `slots` slots.
double miss_ratio(const MissRatioCurve& curve, std::uint64_t slots) {
  const auto above = std::partition_point(curve.sizes.begin(), curve.sizes.end(),
                                          [&](const auto& size) { return size.slots <= slots; });
  REQUIRE(above != curve.sizes.begin());
  return std::prev(above)->miss_ratio;
}

bool same(const MissRatioCurve& a, const MissRatioCurve& b) {
  return a.asked == b.asked && a.first_uses == b.first_uses && a.followed == b.followed &&
         std::ranges::equal(a.sizes, b.sizes, [](const CacheSize& x, const CacheSize& y) {
           return x.slots == y.slots && x.bytes == y.bytes && x.miss_ratio == y.miss_ratio;
         });
}

}  // namespace

TEST_CASE("a table that follows all its rows tells what `lru` tables of every size miss") {
  const auto ids = zipf_log(600, 3000, 0.8, 11);
  for (const auto kind : {Kind::Whole, Kind::Rows}) {
    const Rig advised{kind};
    auto table = sampled_table(advised, 600, 40, 600, "lru", 64);
    gather_in_batches(table, ids);
    const auto curve = table.advise();
    CHECK(curve.asked == ids.size());
    for (const std::uint64_t slots : {1, 2, 40, 128, 400}) {
      CAPTURE(slots);
      const Rig rig{Kind::Rows};
      auto of_size = rig.table(600, 64, slots, "lru");
      for (const auto id : ids) gather(of_size, {id});
      const auto waited = static_cast<double>(of_size.statistics().waited);
      CHECK(miss_ratio(curve, slots) * 3000 == doctest::Approx(waited).epsilon(1e-9));
      CHECK(lru_misses(ids, slots) == of_size.statistics().waited);
    }
  }
}

TEST_CASE(
    "a curve rises in slots and bytes, falls in misses, and ends with the whole table, which misses "
    "nothing") {
  for (const auto kind : {Kind::Whole, Kind::Rows, Kind::Blocks}) {
    CAPTURE(static_cast<int>(kind));
    const Rig rig{kind};
    auto table = sampled_table(rig, 5000, 100, 500);
    gather_in_batches(table, zipf_log(5000, 20'000, 0.7, 2));
    const auto curve = table.advise();
    CHECK(curve.followed <= 500);
    CHECK(curve.sizes.front().slots == 1);
    REQUIRE(curve.sizes.size() > 10);
    for (std::size_t i = 1; i < curve.sizes.size(); ++i) {
      CHECK(curve.sizes[i - 1].slots < curve.sizes[i].slots);
      CHECK(curve.sizes[i - 1].bytes < curve.sizes[i].bytes);
      CHECK(curve.sizes[i - 1].miss_ratio > curve.sizes[i].miss_ratio);
    }
    CHECK(curve.sizes.back().slots == 5000);
    CHECK(curve.sizes.back().miss_ratio == 0);
    CHECK(curve.sizes.end()[-2].miss_ratio >= curve.first_uses);
  }
}

TEST_CASE("the bytes of a size, as a budget, give a table that size") {
  for (const auto kind : {Kind::Rows, Kind::Blocks}) {
    const Rig rig{kind};
    auto table = sampled_table(rig, 5000, 100, 5000, "hint_aware");
    gather_in_batches(table, zipf_log(5000, 20'000, 0.7, 2));
    const auto curve = table.advise();
    for (std::size_t i = 0; i < curve.sizes.size(); i += 1 + curve.sizes.size() / 20) {
      auto options = rig.options(5000, 4, 0);
      options.slots.reset();
      options.budget = curve.sizes[i].bytes;
      const RowTable<float> made{rig.context, std::move(options)};
      CHECK(made.slots() == curve.sizes[i].slots);
      CHECK(made.is_whole() == (i + 1 == curve.sizes.size()));
    }
  }
}

TEST_CASE("the least size for a wanted share of hits is the first that has it") {
  const Rig rig{Kind::Rows};
  auto table = sampled_table(rig, 1000, 100, 1000);
  gather_in_batches(table, zipf_log(1000, 20'000, 0.9, 2));
  const auto curve = table.advise();
  for (const double share : {0.0, 0.3, 0.5, 0.9, 1.0}) {
    const auto& size = curve.least_for(share);
    CHECK(1 - size.miss_ratio >= share);
    if (&size != curve.sizes.data()) CHECK(1 - (&size)[-1].miss_ratio < share);
  }
  CHECK(curve.least_for(1).slots == 1000);
  CHECK(&curve.largest_in({0}) == curve.sizes.data());
  for (const auto& size : curve.sizes) CHECK(&curve.largest_in(size.bytes) == &size);
  CHECK(curve.largest_in(1_GiB).slots == 1000);
  for (const double share : {-0.1, 1.1, std::nan("")})
    CHECK(test::message_of<ConfigError>([&] { std::ignore = curve.least_for(share); }).find("hit share") ==
          2);
}

TEST_CASE("a table that follows nothing refuses to advise, and says what to set") {
  const Rig rig{Kind::Rows};
  auto table = rig.table(100, 4, 10);
  const auto message = test::message_of<ConfigError>([&] { std::ignore = table.advise(); });
  CHECK(message.find("'clicks'") != std::string::npos);
  CHECK(message.find("TableOptions::sample") != std::string::npos);
  const CacheAdvisor advisor{*rig.manager, rig.options(100, 4, 10)};
  CHECK(test::message_of<ConfigError>([&] { std::ignore = advisor.advise(); }) == message);
}

TEST_CASE("a table that was asked for nothing knows only that the whole of it misses nothing") {
  const Rig rig{Kind::Rows};
  const auto curve = sampled_table(rig, 100, 10, 10).advise();
  CHECK(curve.asked == 0);
  REQUIRE(curve.sizes.size() == 2);
  CHECK(curve.sizes[0].miss_ratio == 1);
  CHECK(curve.sizes[1].slots == 100);
}

TEST_CASE(
    "one batch tells the same whether it is gathered, pooled, prefetched, or gathered in a batch scope") {
  const auto ids = zipf_log(500, 400, 0.9, 4);
  const auto curve_of = [&](auto use) {
    const Rig rig{Kind::Rows};
    auto table = sampled_table(rig, 500, 50, 100, "hint_aware");
    for (int i = 0; i < 3; ++i) use(table);
    return table.advise();
  };
  std::vector<float> out(ids.size() * 4);
  const std::vector<std::uint32_t> offsets{0, 100, 400};
  const auto expected = curve_of([&](auto& table) { table.gather(ids, out); });
  CHECK(expected.asked == 1200);
  CHECK(same(expected, curve_of([&](auto& table) { table.gather_pooled(ids, offsets, out); })));
  CHECK(same(expected, curve_of([&](auto& table) {
               table.prefetch(ids);
               table.gather(ids, out);
             })));
  CHECK(same(expected, curve_of([&](auto& table) {
               auto batch = table.batch(ids);
               batch.gather(out);
               batch.update(std::vector<float>(out.size()), Sgd{});
             })));
}

TEST_CASE("a log of ids tells before there is a table what the table would tell") {
  const auto ids = zipf_log(5000, 20'000, 0.7, 2);
  for (const auto kind : {Kind::Whole, Kind::Rows, Kind::Blocks}) {
    const Rig rig{kind};
    auto options = rig.options(5000, 4, 100, "lru");
    options.sample = 300;
    CacheAdvisor before{*rig.manager, options};
    before.note(ids);
    auto table = sampled_table(rig, 5000, 100, 300);
    gather_in_batches(table, ids);
    CHECK(same(before.advise(), table.advise()));
  }
}

TEST_CASE("after a reset only rows that are new count as used for the first time") {
  const Rig rig{Kind::Rows};
  auto table = sampled_table(rig, 1000, 100, 1000);
  std::vector<RowId> ids(100);
  for (RowId i = 0; i < 100; ++i) ids[i] = i;
  gather(table, ids);
  CHECK(table.advise().first_uses == 1);
  table.reset_statistics();
  CHECK(table.advise().asked == 0);
  ids[0] = 999;
  gather(table, ids);
  const auto curve = table.advise();
  CHECK(curve.asked == 100);
  CHECK(curve.first_uses == doctest::Approx(0.01));
  CHECK(miss_ratio(curve, 99) == 1);
  CHECK(miss_ratio(curve, 101) == doctest::Approx(0.01));
}

TEST_CASE("gathers side by side count each of their rows once, while others ask for advice") {
  const Rig rig{Kind::Rows};
  auto table = sampled_table(rig, 2000, 200, 100, "hint_aware");
  const auto ids = zipf_log(2000, 500, 0.8, 9);
  constexpr std::uint64_t rounds = 50;
  std::vector<std::thread> threads(3);
  for (auto& thread : threads)
    thread = std::thread([&] {
      std::vector<float> out(ids.size() * 4);
      for (std::uint64_t i = 0; i < rounds; ++i) {
        table.gather(ids, out);
        CHECK(table.advise().followed <= 100);
      }
    });
  for (auto& thread : threads) thread.join();
  const auto curve = table.advise();
  CHECK(curve.asked == 3 * rounds * ids.size());
  CHECK(curve.first_uses < 1);
}

}  // namespace tier::advise_test
