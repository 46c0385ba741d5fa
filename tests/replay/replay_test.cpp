// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "machines.hpp"
#include "policies.hpp"
#include "random_steps.hpp"
#include "support/message_of.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "trace/texts.hpp"

#include <tier/core/error.hpp>
#include <tier/replay/replay.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace tier::replay_test {

using namespace tier::test;

namespace {

const std::vector<replay::SimulatedTier> two_tiers{{"fast", 8_MiB}, {"slow", 1_GiB}};
const std::vector<replay::SimulatedTier> with_disk{{"fast", 8_MiB}, {"disk", 1_GiB}};
const std::vector<replay::SimulatedTier> three_tiers{{"disk", 1_GiB}, {"fast", 8_MiB}, {"slow", 16_MiB}};

/// Records all events as text.
struct Told final : Observer {
  std::string text;
  void on_migration(const MigrationEvent& e) noexcept override {
    text += "m " + std::to_string(e.block) + ' ' + std::to_string(e.from) + '>' + std::to_string(e.to) + ' ' +
            std::to_string(e.bytes.count) + ' ' + std::string{to_string(e.cause)} + ' ' +
            std::to_string(e.start_ns) + '+' + std::to_string(e.duration_ns) + '\n';
  }
  void on_region(const RegionEvent& e) noexcept override {
    text +=
        std::string{e.freed ? "- " : "+ "} + std::to_string(e.block) + ' ' + std::to_string(e.tier) + '\n';
  }
};

double kernel_bytes(const replay::Result& r) {
  double sum = 0;
  for (const auto& t : r.traffic) sum += static_cast<double>(t.read_by_kernels + t.written_by_kernels);
  return sum;
}

}  // namespace

TEST_CASE("a replay keeps the manager's invariants after every event, whatever the policy and the tiers") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto kernels_each = std::min<std::uint64_t>(test::steps(300), 30'000) / 10;
  const auto trace = random_steps(random, {.kernels = kernels_each, .iterations = 3});
  const auto machine = small_machine();
  for (const auto& tiers : {two_tiers, with_disk, three_tiers})
    for (const auto& policy : policies)
      for (const bool asynchronous : {false, true}) {
        CAPTURE(policy);
        CAPTURE(asynchronous);
        CAPTURE(tiers.size());
        std::uint64_t kernels = 0, events = 0;
        replay::Options options{.passes = 2, .asynchronous = asynchronous};
        options.after_kernel = [&](std::uint64_t kernel, const Manager&) { CHECK(kernel == kernels++); };
        options.after_event = [&](const Manager& manager) {
          ++events;
          manager.check_invariants();
        };
        const auto r = replay::run(trace, machine, tiers, named(policy), options);
        CHECK(kernels == 2 * trace.kernels().size());
        CHECK(events == r.events);
        CHECK(r.seconds > 0);
        CHECK(r.seconds >= r.lower_bound * 0.999999);
        CHECK(r.seconds == doctest::Approx(r.compute + r.waiting).epsilon(1e-9));
      }
}

TEST_CASE("of a gradient that survived its iteration W overwrites: what it held is fetched from nowhere") {
  const auto moved = [](const std::string& again) {
    const auto trace = read(
        "H tmtrace=1\nT 1 6000000 g gradient\nT 2 6000000 a other\n"
        "K make b 0 R - W 1 U -\nK other f 0 R - W 2 U -\nI\n"
        "K make b 0 R - " +
        again + "\nI\n");
    const auto r = replay::run(trace, small_machine(), {{"fast", Bytes{8'000'000}}, {"slow", 1_GiB}},
                               named("lru"), {.passes = 2, .asynchronous = false});
    std::map<TierIndex, std::uint64_t> bytes;  // by target
    for (const auto& copied : r.copied) bytes[copied.to] += copied.bytes;
    return bytes;
  };
  auto overwritten = moved("W 1 U -"), updated = moved("W - U 1");
  CHECK(overwritten[1] > 0);
  CHECK(overwritten[0] == 0);
  CHECK(updated[0] > 0);
}

TEST_CASE("where few cores compute, movers yield: between memories nothing is moved ahead") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto trace = random_steps(random, {});
  auto machine = small_machine();
  const auto seconds = [&](const std::vector<replay::SimulatedTier>& tiers, bool asynchronous) {
    return replay::run(trace, machine, tiers, named("hint_aware"), {.asynchronous = asynchronous}).seconds;
  };
  CHECK(seconds(two_tiers, true) != seconds(two_tiers, false));
  machine.lost_to_mover = 0.3;
  CHECK(seconds(two_tiers, true) == seconds(two_tiers, false));
  CHECK(seconds(with_disk, true) != seconds(with_disk, false));
  machine.cores = 16;
  CHECK(seconds(two_tiers, true) != seconds(two_tiers, false));
}

TEST_CASE("kernels read and write the same bytes under every policy; only tiers and copies differ") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto trace = random_steps(random, {});
  const auto machine = small_machine();
  const auto first = kernel_bytes(replay::run(trace, machine, two_tiers, named("first_touch")));
  CHECK(first > 0);
  for (const auto& policy : policies) {
    CAPTURE(policy);
    CHECK(kernel_bytes(replay::run(trace, machine, two_tiers, named(policy))) ==
          doctest::Approx(first).epsilon(1e-9));
  }
}

TEST_CASE("a replay is the same each time, to the nanosecond, and another policy's is not") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto trace = random_steps(random, {});
  const auto machine = small_machine();
  std::map<std::string, std::string> all;
  for (const auto& policy : policies) {
    CAPTURE(policy);
    for (int again = 0; again < 2; ++again) {
      Told told;
      replay::Options options{.passes = 2};
      options.observer = &told;
      (void)replay::run(trace, machine, two_tiers, named(policy), options);
      CHECK(!told.text.empty());
      const auto known = all.emplace(policy, told.text).first;
      CHECK(known->second == told.text);
    }
  }
  CHECK(all["lru"] != all["belady"]);
  CHECK(all["lru"] != all["first_touch"]);
  const auto compacts = [](const auto& told) { return told.second.find(" compact ") != std::string::npos; };
  CHECK(std::ranges::any_of(all, compacts));  // in the background
}

TEST_CASE("where all fits, a replay takes what its kernels take") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto trace = random_steps(random, {});
  const auto r = replay::run(trace, small_machine(), {{"fast", 1_GiB}, {"slow", 1_GiB}}, named("hint_aware"));
  CHECK(r.waiting == 0);
  CHECK(r.copied.empty());
  CHECK(r.evictions == 0);
  CHECK(r.inputs_fast_share == 1);
  CHECK(r.outputs_fast_share == 1);
  CHECK(r.seconds == doctest::Approx(r.lower_bound).epsilon(1e-4));  // ns are whole numbers
}

TEST_CASE("a parameter that a pass has retired is there again in the next one, as often as there is one") {
  const auto trace = read(
      "H tmtrace=1\n"
      "T 1 1000000 p w\n"
      "T 2 1000000 p x\n"
      "T 3 1000000 a y\n"
      "K one f 0 R 1 W 3 U 2\n"
      "X 1\n"
      "K two f 0 R 3 W - U -\n"
      "X 2\n");
  for (const auto& policy : policies)
    for (const unsigned passes : {1U, 2U, 4U}) {
      CAPTURE(policy);
      CAPTURE(passes);
      const auto r = replay::run(trace, small_machine(), two_tiers, named(policy), {.passes = passes});
      CHECK(kernel_bytes(r) == 5e6);
    }
}

TEST_CASE("what lives again in a recording, and is read first there, has contents") {
  const auto trace = read(
      "H tmtrace=1 recorded=1\n"
      "T 1 64 p x\n"
      "a 0 1 fast 64 0\n"
      "K one f 0 R - W - U 1\n"
      "X 1\n"
      "T 2 64 p x\n"
      "h 1 revive 2,1 5\n"
      "K two f 0 R - W - U 2@32\n"
      "X 2\n"
      "T 3 64 p nobody_saw_it_made\n"
      "K three f 0 R 3 W - U -\n");
  const auto r = replay::run(trace, small_machine(), two_tiers, named("lru"));
  CHECK(kernel_bytes(r) == 2 * 64 + 2 * 32 + 64);
}

TEST_CASE("what a replay cannot be made of is named") {
  const auto machine = small_machine();
  std::mt19937_64 random{1};
  const auto trace = random_steps(random, {});
  const auto message = [&](const std::vector<replay::SimulatedTier>& tiers, replay::Options options = {}) {
    return message_of<ConfigError>([&] { (void)replay::run(trace, machine, tiers, named("lru"), options); });
  };
  CHECK(message({}).find("at least one tier") != std::string::npos);
  CHECK(message({{"optane", 1_GiB}}).find("machine small has no such device") != std::string::npos);
  CHECK(message({{"optane", 1_GiB}}).find("fast, slow, disk") != std::string::npos);
  CHECK(message({{"fast", 1_GiB}, {"slow", 1_GiB}, {"fast", 1_MiB}}) ==
        "device fast is given for two tiers; a replay needs another device for each tier");
  auto many = small_machine();
  many.devices.resize(9, many.devices.front());
  std::vector<replay::SimulatedTier> nine;
  for (std::size_t d = 0; d < many.devices.size(); ++d)
    nine.push_back({many.devices[d].name = "d" + std::to_string(d), 1_GiB});
  CHECK(message_of<ConfigError>([&] { (void)replay::run(trace, many, nine, named("lru")); }) ==
        "a replay has at most 8 tiers, not 9");
  CHECK(message({{"disk", 1_GiB}}).find("none of the tiers can be reached by the CPU") != std::string::npos);
  CHECK(message({{"fast", 0_B}}).find("size above zero") != std::string::npos);
  CHECK(message({{"fast", 1_GiB}}, {.passes = 0}).find("at least once") != std::string::npos);
  CHECK_THROWS_AS((void)replay::run(trace, machine, {{"fast", 1_MiB}}, named("lru")), OutOfTierMemory);
}

}  // namespace tier::replay_test
