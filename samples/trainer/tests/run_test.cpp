// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <omp.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "cases.hpp"
#include "common/tests/data_folder.hpp"
#include "networks/networks.hpp"
#include "support/temporary_directory.hpp"
#include "trainer/data/images.hpp"
#include "trainer/data/text.hpp"
#include "trainer/executor.hpp"
#include "trainer/plain_memory.hpp"
#include "trainer/tiered_memory.hpp"
#include "trainer/train.hpp"

namespace run_test {

using namespace training;
using namespace training::test;
using namespace tier::literals;

TEST_CASE("a residual network learns classes that differ in colour") {
  const auto result = small_resnet(60).run_plain();
  CHECK(result.complete);
  CHECK(result.loss < 1.6);  // guessing gives ln 10 = 2.3
  CHECK(result.accuracy > 0.35);
}

TEST_CASE("an LSTM learns which character follows") {
  const auto result = small_language_model("lstm", 200).run_plain();
  CHECK(result.loss < 1.6);  // guessing gives ln 27 = 3.3
  CHECK(result.accuracy > 0.35);
}

TEST_CASE("a Transformer learns which character follows, from sequences of many lengths") {
  const auto result = small_language_model("transformer", 200).run_plain();
  CHECK(result.loss < 1.6);
  CHECK(result.accuracy > 0.35);
}

TEST_CASE("plain memory holds at its peak what the steps' liveness says") {
  const auto check = [](const Case& c) { CHECK(c.run_plain().traffic.peak_bytes() == peak_bytes(c.steps)); };
  SUBCASE("of one step") { check(small_resnet(2)); }
  SUBCASE("of the longest sequences") { check(small_language_model("transformer", 20)); }
}

TEST_CASE("what learns in turns with a run learns the same, and leaves the run as it is") {
  auto learned = small_resnet(5);
  const auto alone = learned.run_plain();
  CHECK(std::isnan(alone.plain_seconds_per_iteration));
  PlainMemory memory, other;
  std::uint64_t told = 0;
  const auto run = train(
      "run", learned.steps, *learned.data, memory, learned.options, never,
      [&](const TrainState& state) {
        CHECK(state.iteration == ++told);
        CHECK(other.traffic().operands.count == memory.traffic().operands.count);
      },
      &other);
  CHECK(told == 5);
  CHECK(run.checksum == alone.checksum);
  CHECK(run.accuracy == alone.accuracy);
  CHECK(run.plain_seconds_per_iteration > 0);
  CHECK(run.learning_s > 2 * run.seconds_per_iteration);
  const std::atomic<bool> stopped{true};
  PlainMemory first, second;
  const auto none = train("run", learned.steps, *learned.data, first, learned.options, stopped, {}, &second);
  CHECK(none.iterations == 0);
  CHECK(std::isnan(none.plain_seconds_per_iteration));
}

TEST_CASE("what a run warms up with is forgotten, and is not counted") {
  auto learned = small_resnet(5);
  const auto cold = learned.run_plain();
  learned.options.warm_up = 3;
  const auto warm = learned.run_plain();
  CHECK(warm.checksum == cold.checksum);
  CHECK(warm.loss == cold.loss);
  CHECK(warm.iterations == 5);
  CHECK(warm.traffic.operands.count == cold.traffic.operands.count);
  CHECK(warm.operands.size() == 5);
  CHECK(warm.low_seconds <= warm.seconds_per_iteration);
  CHECK(warm.seconds_per_iteration <= warm.high_seconds);
  SUBCASE("in tiers, too") {
    const auto peak = peak_bytes(learned.steps);
    const auto in_tiers = [&](std::uint64_t warm_up) {
      learned.options.warm_up = warm_up;
      TieredMemory memory{
          {.fast = {peak / 2}, .slow = tier::tiers::emulated("cxl", {2 * peak}), .threads = 1, .movers = 0}};
      return train("tiered", learned.steps, *learned.data, memory, learned.options, never);
    };
    const auto once = in_tiers(0), later = in_tiers(2);
    CHECK(later.checksum == cold.checksum);
    CHECK(later.traffic.bytes_out > 0);
    CHECK(later.traffic.bytes_out < 2 * once.traffic.bytes_out);
  }
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
  unsigned movers = 1;
  SUBCASE("emulated CXL memory") { slow = tier::tiers::emulated("cxl", {2 * peak}); }
  SUBCASE("emulated CXL memory, without hints") {
    slow = tier::tiers::emulated("cxl", {2 * peak});
    policy = "lru";
  }
  SUBCASE("emulated CXL memory, CachedArrays' mode 0") {
    slow = tier::tiers::emulated("cxl", {8 * peak});
    policy = "hint_aware:mode=0";
  }
  SUBCASE("emulated CXL memory, first touch") {
    slow = tier::tiers::emulated("cxl", {2 * peak});
    policy = "first_touch";
  }
  SUBCASE("emulated CXL memory, with three threads that move") {
    slow = tier::tiers::emulated("cxl", {2 * peak});
    movers = 3;
  }
  SUBCASE("a file") { slow = tier::tiers::file(folder.path(), {2 * peak}); }
  SUBCASE("a file, without hints") {
    slow = tier::tiers::file(folder.path(), {2 * peak});
    policy = "lru";
  }
  SUBCASE("a mapped file") { slow = tier::tiers::mapped(folder.path(), {2 * peak}); }
  SUBCASE("a file, and emulated memory between") {
    slow = tier::tiers::file(folder.path(), {2 * peak});
    more = {tier::tiers::emulated("redl", {peak / 5})};
  }
  CAPTURE(policy);
  const auto fast = a_fifth(c, slow);
  TieredMemory memory{
      {.fast = fast, .slow = slow, .more = more, .policy = policy, .threads = 2, .movers = movers}};
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
  SUBCASE("an LSTM") { check_bits_in_tiers(small_language_model("lstm", 8)); }
  SUBCASE("a network of what the others lack: concatenation, dropout, biases, and both poolings") {
    check_bits_in_tiers(on_generated_images(forked_network(), 5));
  }
}

namespace {

struct Losses {
  double first = 0, last = 0;  ///< means of the first ten iterations and of the last ten
};

Losses losses_of(const std::vector<double>& all) {
  const auto mean = [](auto from, auto to) {
    return std::accumulate(from, to, 0.0) / static_cast<double>(to - from);
  };
  return {mean(all.begin(), all.begin() + 10), mean(all.end() - 10, all.end())};
}

/// Learns from text with prefetches in the background and a fifth of the memory fast.
void check_learning(const std::string& network, std::unique_ptr<Data> data, std::uint64_t iterations,
                    double most_of_first) {
  CAPTURE(network);
  const auto c = small_language_model(network, iterations, std::move(data));
  const auto peak = peak_bytes(c.steps);
  const tier::Bytes fast{peak / 5};
  TieredMemory memory{{.fast = fast, .slow = tier::tiers::emulated("redl", {2 * peak}), .threads = 2}};
  std::vector<double> all;
  const auto tiered =
      c.run(memory, fast.count / 2, [&](const TrainState& state) { all.push_back(state.loss); });
  const auto losses = losses_of(all);
  MESSAGE(network << " learns " << iterations << " batches of text: loss " << losses.first << ", then "
                  << losses.last);
  CHECK(losses.first > 0.8 * std::log(static_cast<double>(c.data->classes())));  // near to guessing
  CHECK(losses.last < most_of_first * losses.first);
  CHECK(moved_by(tiered) > 2 * fast.count);
  CHECK(tiered.checksum == c.run_plain().checksum);
}

}  // namespace

TEST_CASE("what a language model learns in a fifth of the memory lowers its loss, as on plain memory") {
  for (const auto* network : {"lstm", "transformer"}) check_learning(network, {}, 200, 0.6);
}

TEST_SUITE("data") {
  TEST_CASE("language models learn real text in a fifth of the memory, as on plain memory") {
    const auto data = sample::data_folder();
    if (!data) return;
    for (const auto* network : {"lstm", "transformer"})
      check_learning(network, open_data(*data / "text", InputKind::Text, 1), 400, 0.75);
  }
}

}  // namespace run_test
