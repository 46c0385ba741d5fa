// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fstream>
#include <string>

#include "click_logs/generated_log.hpp"
#include "common/access_skew.hpp"
#include "common/tests/data_folder.hpp"

namespace generated_log_test {

using namespace dlrm;
using namespace sample;

namespace {

constexpr std::size_t buckets = std::size(production_2021);

struct Histogram {
  std::array<double, buckets> rows{};
  std::array<double, buckets> accesses{};
};

/// Bucket b holds counts in (2^(b-1), 2^b]; the last one holds all larger counts.
std::size_t bucket_of(std::uint64_t count) {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(count - 1)), buckets - 1);
}

Histogram count_accesses(const AccessSkew& skew, std::uint64_t rows, std::uint64_t first,
                         std::uint64_t accesses) {
  std::vector<std::uint32_t> counts(rows);
  for (std::uint64_t i = first; i < first + accesses; ++i) ++counts.at(skew.row(i));
  Histogram histogram;
  double touched = 0;
  for (const auto count : counts) {
    if (count == 0) continue;
    ++touched;
    ++histogram.rows[bucket_of(count)];
    histogram.accesses[bucket_of(count)] += count;
  }
  for (auto& share : histogram.rows) share /= touched;
  for (auto& share : histogram.accesses) share /= static_cast<double>(accesses);
  return histogram;
}

/// Reads the histogram after `heading` in the file's first section, in lines that end like ": 0.473".
std::array<double, buckets> read_shares(std::istream& file, const std::string& heading) {
  std::array<double, buckets> shares{};
  std::string line;
  while (std::getline(file, line) && !line.starts_with(heading)) {
  }
  for (auto& share : shares) {
    REQUIRE(std::getline(file, line));
    share = std::stod(line.substr(line.find(':') + 1));
  }
  return shares;
}

// The tolerance includes rounding, because the published shares have three digits.
void check_within_a_tenth(double share, double published) {
  CHECK(std::abs(share - published) <= 0.1 * published + 0.0005);
}

}  // namespace

TEST_CASE("the default skew has the histogram of production logs, within a tenth in every bucket") {
  constexpr std::uint64_t rows = 1 << 19;  // the rarest bucket needs a row of over 32,768 accesses
  const AccessSkew skew{"production", rows, 7};
  CHECK(static_cast<double>(skew.period()) / rows ==
        doctest::Approx(production_accesses_per_row).epsilon(0.01));
  for (const std::uint64_t period : {0U, 3U}) {
    const auto histogram = count_accesses(skew, rows, period * skew.period(), skew.period());
    for (std::size_t b = 0; b < buckets; ++b) {
      CAPTURE(b);
      check_within_a_tenth(histogram.rows[b], production_2021[b].rows);
      check_within_a_tenth(histogram.accesses[b], production_2021[b].accesses);
    }
  }
}

TEST_CASE("the default skew is made of the numbers that were published" * doctest::test_suite("data")) {
  const auto data = sample::data_folder();
  if (!data) return;
  std::ifstream file{*data / "access_traces/dlrm_2021_locality_stats.txt"};
  REQUIRE_MESSAGE(file, "TIER_DATA has no access_traces/dlrm_2021_locality_stats.txt");
  const auto rows = read_shares(file, "Histogram of col sizes");
  const auto accesses = read_shares(file, "Ratio of index distribution");
  for (std::size_t b = 0; b < buckets; ++b) {
    CAPTURE(b);
    CHECK(production_2021[b].rows == rows[b]);
    CHECK(production_2021[b].accesses == accesses[b]);
  }
}

TEST_CASE("tables of any size are covered, and shuffled anew in each period") {
  for (const std::uint64_t rows : {1U, 2U, 3U, 100U, 1000U}) {
    CAPTURE(rows);
    const AccessSkew skew{"production", rows, 1};
    std::vector<std::uint32_t> counts(rows);
    bool shuffled = false;
    for (std::uint64_t i = 0; i < skew.period(); ++i) {
      ++counts.at(skew.row(i));
      shuffled = shuffled || skew.row(i) != skew.row(i + skew.period());
    }
    for (const auto count : counts) CHECK(count > 0);
    CHECK((shuffled || rows < 10));  // two orders of a few accesses may be equal
  }
}

TEST_CASE("a permutation meets every number once") {
  for (const std::uint64_t size : {1U, 2U, 5U, 64U, 1000U}) {
    CAPTURE(size);
    for (const std::uint64_t key : {0U, 1U, 2U}) {
      const Permutation permutation{size, key};
      std::vector<int> met(size);
      for (std::uint64_t i = 0; i < size; ++i) ++met.at(permutation(i));
      for (const int times : met) CHECK(times == 1);
    }
  }
}

TEST_CASE("a Zipf exponent sets the share of the hottest row, and uniform has none") {
  const auto hottest = [](std::string_view name) {
    constexpr std::uint64_t rows = 1000, accesses = 100'000;
    const AccessSkew skew{name, rows, 3};
    std::vector<int> counts(rows);
    for (std::uint64_t i = 0; i < accesses; ++i) ++counts.at(skew.row(i));
    return static_cast<double>(*std::max_element(counts.begin(), counts.end())) / accesses;
  };
  CHECK(hottest("uniform") < 0.002);
  CHECK(hottest("1") == doctest::Approx(std::log(2) / std::log(1001)).epsilon(0.05));
  CHECK(hottest("1.5") ==
        doctest::Approx((1 - std::pow(2, -0.5)) / (1 - std::pow(1001, -0.5))).epsilon(0.05));
  CHECK_THROWS_WITH_AS(AccessSkew("steep", 10, 1),
                       "unknown skew at position 0 of \"steep\"; allowed: production, uniform, "
                       "or a Zipf exponent in (0, 10]",
                       tier::ConfigError);
  CHECK_THROWS_AS(AccessSkew("-1", 10, 1), tier::ConfigError);
}

TEST_CASE("a generated log is the same each time, another with another seed, and has both labels") {
  const auto read = [](std::uint64_t seed) {
    GeneratedLog log{{.records = 500, .rows = {100, 2000}, .pooling = 3, .skew = "production", .seed = seed}};
    std::vector<Record> records;
    for (Record record; log.next(record);) records.push_back(record);
    return records;
  };
  const auto one = read(1);
  const auto same = read(1);
  const auto other = read(2);
  REQUIRE(one.size() == 500);
  int clicks = 0;
  int different = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(one[i].ids == same[i].ids);
    CHECK(one[i].dense == same[i].dense);
    CHECK(one[i].label == same[i].label);
    CHECK(one[i].ids[1].size() == 3);
    different += one[i].ids != other[i].ids ? 1 : 0;
    clicks += one[i].label > 0 ? 1 : 0;
  }
  CHECK(different > 400);
  CHECK(clicks > 100);
  CHECK(clicks < 400);
}

}  // namespace generated_log_test
