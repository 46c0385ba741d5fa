// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <omp.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <numeric>
#include <set>

#include "data/images.hpp"
#include "data/text.hpp"
#include "networks/networks.hpp"
#include "run/executor.hpp"
#include "run/plain_memory.hpp"
#include "run/tiered_memory.hpp"
#include "run/train.hpp"
#include "support/temporary_directory.hpp"

using namespace training;
using namespace tier::literals;

namespace {

const std::atomic<bool> never{false};

/// A network with data and a few iterations.
struct Case {
  Steps steps;
  std::unique_ptr<Data> data;
  TrainOptions options;

  [[nodiscard]] RunResult run(Memory& memory, std::size_t ahead = 0) const {
    auto with_ahead = options;
    with_ahead.ahead = ahead;
    return train("run", steps, *data, memory, with_ahead, never);
  }
  [[nodiscard]] RunResult run_plain() const {
    PlainMemory memory;
    return run(memory);
  }
};

Case small_resnet(std::uint64_t iterations) {
  Case c{.steps = lower_all(
             std::vector{resnet_of_small_images("small", 3, {.batch = 16, .image = 16, .classes = 10})},
             {.decay = 1e-4F}),
         .data = std::make_unique<ImageData>(generated_images(256, 1), generated_images(64, 2), 1, true),
         .options = {
             .shape = {.batch = 16, .image = 16}, .iterations = iterations, .seed = 3, .test_batches = 4}};
  return c;
}

/// By characters.
Case small_language_model(std::string_view network, std::uint64_t iterations) {
  auto data = std::make_unique<TextData>(generated_text(20'000, 1), 1);
  const NetworkOptions options{.batch = 8, .classes = data->classes(), .steps = 12, .width = 32};
  return {.steps = lower_all(make_networks(find_network(network), options), {.optimizer = Optimizer::Adam}),
          .data = std::move(data),
          .options = {.shape = {.batch = 8, .steps = 12},
                      .iterations = iterations,
                      .rate = 0.01F,
                      .seed = 3,
                      .test_batches = 4}};
}

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
  CAPTURE(policy);
  const tier::Bytes fast{peak / 5};
  TieredMemory memory{{.fast = fast, .slow = slow, .policy = policy, .threads = 2}};
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
