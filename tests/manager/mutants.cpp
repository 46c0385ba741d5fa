// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tests the property test: each fault that is seeded in the manager is found, and none without one.
#include "manager/manager_core.hpp"
#include "random_program.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "support/windows.hpp"
#include "window_fire.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <exception>

namespace tier {
Mutant& active_mutant() noexcept {
  static Mutant active = Mutant::None;
  return active;
}
}  // namespace tier

using namespace tier;
using namespace tier::test;
using namespace tier::literals;

namespace {

constexpr unsigned seconds_before_it_hangs = 300;

/// Random programs on all tiers under the policy that moves most, until one is wrong. \return  how many steps that took
std::uint64_t steps_until_broken(std::uint64_t seed, std::uint64_t limit) {
  constexpr std::uint64_t at_once = 2000;
  std::uint64_t done = 0;
  try {
    for (std::uint64_t run = 0; done < limit; ++run) {
      const auto& shape = program_tiers()[run % program_tiers().size()];
      auto manager =
          Manager::make(make_tiers(shape), program_policy(policy_count - 1, seed + run), {.threads = 1});
      Program program{manager, seed + run, shape.program};
      for (std::uint64_t i = 0; i < at_once; ++i, ++done) {
        program.step();
        manager->check_invariants();
      }
      program.check_all();
    }
  } catch (const std::logic_error& e) {
    std::printf("  %s", e.what());
    return done;
  }
  return limit;
}

struct Found {
  bool found = false;
  std::uint64_t after = 0;  ///< steps; 0 where the process crashed
};

/// Windows under fire, until something is lost.   \return  0, or `limit`
std::uint64_t windows_until_broken(std::uint64_t seed, std::uint64_t limit) {
  constexpr std::array sizes{36_KiB, 512_KiB, 2_MiB, 3_MiB};
  Rig rig{4_MiB, 16_MiB, true};
  WindowFire fire{rig, sizes, seed};
  try {
    fire.run(std::chrono::seconds{20});
  } catch (const std::logic_error& e) {
    std::printf("  %s", e.what());
    return 0;
  }
  return limit;
}

using UntilBroken = std::uint64_t (*)(std::uint64_t seed, std::uint64_t limit);

/// In a process of its own: a mutant may write anywhere.
Found look_for(Mutant mutant, UntilBroken until_broken, std::uint64_t seed, std::uint64_t limit) {
  int result[2];
  REQUIRE(::pipe(result) == 0);
  std::fflush(stdout);
  const auto child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(seconds_before_it_hangs);
    active_mutant() = mutant;
    const auto after = until_broken(seed, limit);
    std::fflush(stdout);
    std::ignore = ::write(result[1], &after, sizeof after);
    ::_exit(0);
  }
  ::close(result[1]);
  Found found;
  const bool ended = ::read(result[0], &found.after, sizeof found.after) == sizeof found.after;
  ::close(result[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  found.found = !ended || found.after < limit;
  if (WIFSIGNALED(status)) std::printf("  ended by signal %d", WTERMSIG(status));
  return found;
}

}  // namespace

TEST_CASE("each seeded mutant is found, and nothing is found without one") {
  const auto seed = test::seed();
  CAPTURE(seed);
  MESSAGE("seed " << seed);
  struct Seeded {
    Mutant mutant;
    const char* name;
    UntilBroken until_broken = steps_until_broken;
  };
  for (const auto [mutant, name, until_broken] :
       {Seeded{Mutant::DirtyDecidedAtFetch, "dirty decided at fetch"},
        Seeded{Mutant::VersionNotRaised, "version not raised"}, Seeded{Mutant::PinIgnored, "pin ignored"},
        Seeded{Mutant::StaleRegionPublished, "stale region published"},
        Seeded{Mutant::LastBlockShort, "last block short"},
        Seeded{Mutant::MoverWithoutVersionCheck, "mover without version check"},
        Seeded{Mutant::WritesNotHeld, "stores to windows not held back", windows_until_broken}}) {
    if (mutant == Mutant::WritesNotHeld && !has_windows()) continue;
    CAPTURE(std::string{name});
    std::printf("%s:", name);
    const Found f = look_for(mutant, until_broken, seed, steps(400'000));
    std::printf(" after %llu steps\n", static_cast<unsigned long long>(f.after));
    CHECK(f.found);
  }
  CHECK_FALSE(look_for(Mutant::None, steps_until_broken, seed, 20'000).found);
}
