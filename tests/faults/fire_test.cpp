// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Random programs of several threads while accesses of the tiers fail at random: nothing is lost.
#include "fire.hpp"
#include "manager/random_program.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

namespace tier::fire_test {

using namespace tier::test;

namespace {

/// Makes the tiers of a shape; all but the first fail as `fire` says.
std::vector<std::unique_ptr<Tier>> burning_tiers(const ProgramTiers& shape, Fire& fire) {
  std::vector<std::unique_ptr<Tier>> tiers;
  for (const auto& options : shape.tiers) {
    auto tier = std::make_unique<MemoryTier>(options);
    if (!tiers.empty()) {
      tier->fails = [&fire](Direction, std::uint64_t, std::uint64_t) { return fire(); };
      tier->reserve_fails = [&fire](std::uint64_t, std::uint64_t) { return fire(); };
    }
    tiers.push_back(std::move(tier));
  }
  return tiers;
}

/// Runs several programs on one manager until `end`; then puts the fire out and reads everything.
std::uint64_t burn(const ProgramTiers& shape, int policy, std::uint64_t seed,
                   std::chrono::steady_clock::time_point end, std::uint64_t& failed,
                   std::uint64_t& compactions) {
  Fire fire{seed};
  auto manager =
      Manager::make(burning_tiers(shape, fire), program_policy(policy, seed), {.threads = 2, .movers = 2});
  std::atomic<std::uint64_t> steps{0};
  ProgramOptions options = shape.program;
  options.io_may_fail = true;
  const auto broken = run_programs(manager, options, seed, [&](Program& program) {
    for (std::uint64_t i = 0; i % 256 != 0 || std::chrono::steady_clock::now() < end; ++i, ++steps)
      program.step();
    fire.put_out();
    program.no_more_failures();
    program.check_all();
  });
  for (const auto& what : broken) CHECK(what == "");
  manager->quiesce();
  CHECK_NOTHROW(manager->check_invariants());
  CHECK(manager->close().empty());
  const auto s = manager->statistics();
  CHECK(s.objects == 0);
  CHECK(s.blocks == 0);
  failed += fire.failed();
  compactions += s.compactions_begun;
  return steps;
}

}  // namespace

TEST_CASE("under fire each thread reads what it wrote last") {
  const auto seed = test::seed();
  CAPTURE(seed);
  const auto& shapes = program_tiers();
  const auto each = seconds("TIER_FIRE_SECONDS") / static_cast<double>(policy_count * shapes.size());
  std::uint64_t steps = 0, failed = 0, compactions = 0;
  for (int policy = 0; policy < policy_count; ++policy) {
    for (const auto& shape : shapes) {
      CAPTURE(policy);
      CAPTURE(std::string{shape.name});
      const auto now = std::chrono::steady_clock::now();
      steps += burn(shape, policy, seed + static_cast<std::uint64_t>(policy),
                    now + std::chrono::duration_cast<std::chrono::nanoseconds>(each), failed, compactions);
    }
  }
  MESSAGE("seed " << seed << ", " << steps << " steps, " << failed << " failed accesses, " << compactions
                  << " compactions in the background");
  CHECK(failed > 0);
  CHECK(compactions > 0);
}

TEST_CASE("under fire the invariants hold after every step") {
  const auto seed = test::seed();
  CAPTURE(seed);
  const auto& shapes = program_tiers();
  const auto each = steps(sanitized ? 20'000 : 50'000) / (policy_count * shapes.size()) + 1;
  for (int policy = 0; policy < policy_count; ++policy) {
    for (const auto& shape : shapes) {
      CAPTURE(policy);
      CAPTURE(std::string{shape.name});
      Fire fire{seed};
      auto manager = Manager::make(burning_tiers(shape, fire), program_policy(policy, seed),
                                   {.threads = 1, .yields = false});
      ProgramOptions options = shape.program;
      options.io_may_fail = true;
      Program program{manager, seed + static_cast<std::uint64_t>(policy), options};
      for (std::uint64_t i = 0; i < each; ++i) {
        CAPTURE(i);
        program.step();
        REQUIRE_NOTHROW(manager->check_invariants());
      }
      fire.put_out();
      program.no_more_failures();
      REQUIRE_NOTHROW(program.check_all());
      manager->quiesce();
      REQUIRE_NOTHROW(manager->check_invariants());
    }
  }
}

}  // namespace tier::fire_test
