// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Random programs against a plain-memory model: whatever moves, the bytes written last are read next.
#include "random_program.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"

#include <doctest/doctest.h>

#include <string>

namespace tier::property_test {

using namespace tier::test;

TEST_CASE("whatever moves, the bytes written last are the bytes read next") {
  const auto seed = test::seed();
  CAPTURE(seed);
  const auto& shapes = program_tiers();
  const auto each = steps(sanitized ? 100'000 : 1'000'000) / (policy_count * shapes.size()) + 1;
  MESSAGE("seed " << seed << ", " << each * policy_count * shapes.size() << " steps");
  std::uint64_t compactions = 0;
  for (int which = 0; which < policy_count; ++which) {
    for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
      CAPTURE(which);
      CAPTURE(std::string{shapes[shape].name});
      auto manager = Manager::make(make_tiers(shapes[shape]), program_policy(which, seed),
                                   {.threads = 1, .yields = false});
      Program program{manager, seed + static_cast<std::uint64_t>(which) * shapes.size() + shape,
                      shapes[shape].program};
      for (std::uint64_t i = 0; i < each; ++i) {
        CAPTURE(i);
        program.step();
        manager->check_invariants();
      }
      program.check_all();
      manager->quiesce();
      manager->check_invariants();
      compactions += manager->statistics().compactions_begun;
    }
  }
  MESSAGE(compactions << " compactions in the background");
  if (each >= 1000) CHECK(compactions > 0);
}

TEST_CASE("whatever moves under several threads, each reads what it wrote last") {
  const auto seed = test::seed();
  CAPTURE(seed);
  const auto& shapes = program_tiers();
  const auto each = steps(100'000) / (policy_count * shapes.size() * program_threads) + 1;
  MESSAGE("seed " << seed << ", " << each * policy_count * shapes.size() * program_threads << " steps");
  std::uint64_t compactions = 0;
  for (int which = 0; which < policy_count; ++which) {
    for (const auto& shape : shapes) {
      CAPTURE(which);
      CAPTURE(std::string{shape.name});
      auto manager =
          Manager::make(make_tiers(shape), program_policy(which, seed), {.threads = 2, .movers = 2});
      const auto broken = run_programs(manager, shape.program, seed, [&](Program& program) {
        for (std::uint64_t i = 0; i < each; ++i) program.step();
        program.check_all();
      });
      for (const auto& what : broken) CHECK(what == "");
      manager->quiesce();
      manager->check_invariants();
      compactions += manager->statistics().compactions_begun;
    }
  }
  MESSAGE(compactions << " compactions in the background");
  if (each >= 500) CHECK(compactions > 0);
}

}  // namespace tier::property_test
