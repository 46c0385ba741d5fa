// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/reuse_sample.hpp"

#include "lru_model.hpp"
#include "support/seed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <set>
#include <vector>

namespace tier::reuse_sample_test {

using namespace tier::detail;
using namespace tier::test;

namespace {

ReuseCounts counts_of(std::span<const RowId> ids, RowId rows, std::size_t most) {
  ReuseSample sample{rows, most};
  sample.note(ids);
  return sample.counts();
}

/// Returns the misses of a cache of the largest size in a bucket.
double misses(const ReuseCounts& counts, std::size_t bucket) {
  double sum = counts.first_uses;
  for (auto larger = bucket + 1; larger < ReuseHistogram::buckets; ++larger)
    sum += counts.reuses.uses(larger);
  return sum;
}

std::size_t bucket_of(std::uint64_t slots) {
  ReuseHistogram histogram;
  histogram.add(slots, 1);
  std::size_t bucket = 0;
  while (histogram.uses(bucket) == 0) ++bucket;
  return bucket;
}

}  // namespace

TEST_CASE("sizes have a bucket of their own up to 128, then share one with at most a 64th more") {
  for (std::uint64_t slots = 1; slots <= 128; ++slots)
    CHECK(ReuseHistogram::slots(bucket_of(slots)) == slots);
  const auto seeded = seed();
  CAPTURE(seeded);
  std::mt19937_64 random{seeded};
  for (int i = 0; i < 1000; ++i) {
    const auto slots =
        2 + random() % (std::uint64_t{1} << (8 + random() % 24)) % ((std::uint64_t{1} << 31) - 2);
    const auto bucket = bucket_of(slots);
    CAPTURE(slots);
    CHECK(ReuseHistogram::slots(bucket) >= slots);
    CHECK(ReuseHistogram::slots(bucket - 1) < slots);
    CHECK(ReuseHistogram::slots(bucket) - ReuseHistogram::slots(bucket - 1) <= slots / 64 + 1);
  }
  CHECK(bucket_of(std::uint64_t{1} << 31) == ReuseHistogram::buckets - 1);
}

TEST_CASE("live stamps are counted as a sorted set counts them") {
  const auto seeded = seed();
  CAPTURE(seeded);
  std::mt19937_64 random{seeded};
  for (const std::uint32_t capacity : {1U, 2U, 63U, 64U, 65U, 1000U, 5000U}) {
    LiveStamps live{capacity};
    for (int round = 0; round < 2; ++round, live.clear()) {
      std::set<std::uint32_t> model;
      for (int i = 0; i < 500; ++i) {
        const auto stamp = static_cast<std::uint32_t>(random() % capacity);
        CHECK(live.contains(stamp) == model.contains(stamp));
        if (model.insert(stamp).second)
          live.add(stamp);
        else
          model.erase(stamp), live.remove(stamp);
        const auto at = static_cast<std::uint32_t>(random() % capacity);
        CHECK(live.before(at) == std::distance(model.begin(), model.lower_bound(at)));
      }
    }
  }
}

TEST_CASE("with all rows followed, the misses at each size are those of a least recently used cache") {
  const auto seeded = seed();
  CAPTURE(seeded);
  for (const RowId rows : {1U, 2U, 65U, 700U}) {
    CAPTURE(rows);
    auto ids = zipf_log(rows, 4000, 0.8, seeded);
    for (RowId i = 0; i < 2000; ++i) ids.push_back(i % rows);  // and a loop, which suits such a cache badly
    const auto counts = counts_of(ids, rows, rows);
    CHECK(counts.asked == ids.size());
    CHECK(counts.followed == rows);
    for (std::size_t bucket = 0; ReuseHistogram::slots(bucket) <= rows; bucket += 1 + bucket / 8)
      CHECK(misses(counts, bucket) == lru_misses(ids, ReuseHistogram::slots(bucket)));
  }
}

// For thirty hash functions the errors at these sizes had no bias, and root mean squares of at most 0.02, 0.04 and 0.07.
TEST_CASE("a sample of a tenth, a 30th or a 100th of the rows tells the misses to a few points") {
  constexpr RowId rows = 100'000;
  constexpr std::array<std::uint64_t, 6> sizes{1024, 2048, 4096, 12'288, 32'768, 65'536};
  for (const double exponent : {0.6, 0.9, 1.1}) {
    const auto ids = zipf_log(rows, 400'000, exponent, 7);
    std::array<double, sizes.size()> exact{};
    for (std::size_t i = 0; i < sizes.size(); ++i) exact[i] = static_cast<double>(lru_misses(ids, sizes[i]));
    const auto within = [&](std::size_t most, double points) {
      const auto counts = counts_of(ids, rows, most);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        REQUIRE(ReuseHistogram::slots(bucket_of(sizes[i])) == sizes[i]);
        CAPTURE(exponent);
        CAPTURE(sizes[i]);
        CHECK(std::abs(misses(counts, bucket_of(sizes[i])) - exact[i]) <
              points * static_cast<double>(ids.size()));
      }
    };
    within(rows / 10, 0.03);
    within(rows / 30, 0.05);
    within(rows / 100, 0.08);
  }
}

TEST_CASE("a sample follows no more rows than it may, and few less once it has met more") {
  const auto ids = zipf_log(5000, 30'000, 0.5, 3);
  for (const std::size_t most : {1UL, 2UL, 63UL, 64UL, 1000UL}) {
    ReuseSample sample{5000, most};
    for (std::size_t i = 0; i < ids.size(); i += 100) {
      sample.note(std::span{ids}.subspan(i, 100));
      CHECK(sample.counts().followed <= most);
    }
    CHECK(sample.counts().followed >= most * 3 / 4);
  }
}

TEST_CASE("a sample depends on the ids alone, not on how calls cut them") {
  const auto ids = zipf_log(5000, 30'000, 0.9, 3);
  const auto once = counts_of(ids, 5000, 500);
  ReuseSample sample{5000, 500};
  for (std::span<const RowId> rest{ids}; !rest.empty();) {
    const auto some = rest.first(std::min<std::size_t>(rest.size(), 1 + rest.size() % 777));
    sample.note(some);
    rest = rest.subspan(some.size());
  }
  const auto cut = sample.counts();
  CHECK(cut.first_uses == once.first_uses);
  CHECK(cut.followed == once.followed);
  for (std::size_t bucket = 0; bucket < ReuseHistogram::buckets; ++bucket)
    CHECK(cut.reuses.uses(bucket) == once.reuses.uses(bucket));
}

}  // namespace tier::reuse_sample_test
