// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <omp.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <numeric>
#include <set>

#include "cases.hpp"
#include "data/images.hpp"
#include "data/text.hpp"
#include "networks/networks.hpp"
#include "run/executor.hpp"
#include "run/plain_memory.hpp"
#include "run/tiered_memory.hpp"
#include "run/train.hpp"
#include "support/temporary_directory.hpp"

using namespace training;
using namespace training::test;
using namespace tier::literals;

namespace {

std::uint64_t moved_by(const RunResult& run) {
  std::uint64_t sum = run.traffic.in_place_bytes;
  for (const auto& [pair, bytes] : run.traffic.bytes_moved) sum += bytes;
  return sum;
}

}  // namespace

TEST_CASE("a residual network learns classes that differ in colour") {
  const auto result = small_resnet(60).run_plain();
  CHECK(result.complete);
  CHECK(result.loss < 1.6);  // ln 10 = 2.3 is guessing
  CHECK(result.accuracy > 0.35);
}

TEST_CASE("an LSTM learns which character follows") {
  const auto result = small_language_model("lstm", 200).run_plain();
  CHECK(result.loss < 1.6);  // ln 27 = 3.3 is guessing
  CHECK(result.accuracy > 0.35);
}

TEST_CASE("a Transformer learns which character follows, from sequences of many lengths") {
  const auto result = small_language_model("transformer", 200).run_plain();
  CHECK(result.loss < 1.6);
  CHECK(result.accuracy > 0.35);
}

TEST_CASE("plain memory holds at its peak what the steps' liveness says") {
  const auto check = [](const Case& c) { CHECK(c.run_plain().traffic.peak_bytes == peak_bytes(c.steps)); };
  SUBCASE("of one step") { check(small_resnet(2)); }
  SUBCASE("of the longest sequences") { check(small_language_model("transformer", 20)); }
}

TEST_CASE("an iteration takes its step by the seed and its number alone") {
  std::set<std::size_t> taken;
  bool seed_matters = false;
  for (std::uint64_t i = 0; i < 50; ++i) {
    CHECK(step_of(7, 1, i) == step_of(7, 1, i));
    taken.insert(step_of(7, 1, i));
    seed_matters = seed_matters || step_of(7, 1, i) != step_of(7, 2, i);
  }
  CHECK(taken == std::set<std::size_t>{0, 1, 2, 3, 4, 5, 6});
  CHECK(seed_matters);
}

namespace {

void check_bits_in_tiers(const Case& c) {
  const auto plain = c.run_plain();
  const auto peak = peak_bytes(c.steps);
  const tier::test::TemporaryDirectory folder;
  tier::TierSpec slow;
  std::vector<tier::TierSpec> more;
  std::string policy = "hint_aware";
  SUBCASE("emulated CXL memory") { slow = tier::tiers::emulated("cxl", {2 * peak}); }
  SUBCASE("emulated CXL memory, without hints") {
    slow = tier::tiers::emulated("cxl", {2 * peak});
    policy = "lru";
  }
  SUBCASE("emulated CXL memory, CachedArrays' mode 0") {
    slow = tier::tiers::emulated("cxl", {8 * peak});
    policy = "hint_aware:mode=0";
  }
  SUBCASE("a file") { slow = tier::tiers::file(folder.path(), {2 * peak}); }
  SUBCASE("a file, and emulated memory between") {
    slow = tier::tiers::file(folder.path(), {2 * peak});
    more = {tier::tiers::emulated("redl", {peak / 5})};
  }
  CAPTURE(policy);
  const tier::Bytes fast{peak / 5};
  TieredMemory memory{{.fast = fast, .slow = slow, .more = more, .policy = policy, .threads = 2}};
  const auto result = c.run(memory, fast.count / 2);
  CHECK(result.checksum == plain.checksum);
  CHECK(result.loss == plain.loss);
  CHECK(result.accuracy == plain.accuracy);
  CHECK(moved_by(result) > 2 * fast.count);
}

}  // namespace

TEST_CASE("training in a fifth of the memory gives the bits that plain memory gives") {
  SUBCASE("a residual network") { check_bits_in_tiers(small_resnet(2)); }
  SUBCASE("a Transformer on sequences of many lengths") {
    check_bits_in_tiers(small_language_model("transformer", 8));
  }
}
