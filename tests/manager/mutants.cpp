// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tests the property test: it finds each fault that is seeded in the manager, and reports none without one.
#include "manager/state/mutants.hpp"
#include "random_program.hpp"
#include "support/sanitized.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "support/windows.hpp"
#include "window_fire.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

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

/// Runs random programs on all tiers under the policy that moves most, until one fails. \return  the failure, or nothing
std::string steps_until_broken(std::uint64_t seed, std::uint64_t limit) {
  constexpr std::uint64_t at_once = 2000;
  std::uint64_t done = 0;
  try {
    for (std::uint64_t run = 0; done < limit; ++run) {
      const auto& shape = program_tiers()[run % program_tiers().size()];
      auto manager = Manager::make(make_tiers(shape), program_policy(policy_count - 1, seed + run),
                                   {.threads = 1, .yields = false});
      Program program{manager, seed + run, shape.program};
      for (std::uint64_t i = 0; i < at_once; ++i, ++done) {
        program.step();
        manager->check_invariants();
      }
      program.check_all();
    }
  } catch (const std::logic_error& e) {
    return std::string{e.what()} + ", after " + std::to_string(done) + " steps";
  }
  return "";
}

/// Runs WindowFire until something is lost or `limit` seconds are over.
std::string windows_until_broken(std::uint64_t seed, std::uint64_t limit) {
  constexpr std::array sizes{36_KiB, 512_KiB, 2_MiB, 3_MiB};
  Rig rig{4_MiB, 16_MiB, true};
  WindowFire fire{*rig.manager, sizes, seed};
  try {
    fire.run(std::chrono::seconds{limit});
  } catch (const std::logic_error& e) {
    return e.what();
  }
  return "";
}

using UntilBroken = std::string (*)(std::uint64_t seed, std::uint64_t limit);

struct Found {
  std::string wrong;  ///< empty if nothing is wrong
  int status = 0;     ///< exit status of the process that looked for it
};

/// Runs in its own process, because a mutant may write anywhere.
Found look_for(Mutant mutant, UntilBroken until_broken, std::uint64_t seed, std::uint64_t limit) {
  int result[2];
  REQUIRE(::pipe(result) == 0);
  std::fflush(stdout);
  const auto child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(seconds_before_it_hangs);
    active_mutant() = mutant;
    const auto wrong = until_broken(seed, limit);
    std::ignore = ::write(result[1], wrong.data(), wrong.size());
    ::_exit(0);
  }
  ::close(result[1]);
  Found found;
  std::array<char, 1000> text{};
  for (::ssize_t n = 0; (n = ::read(result[0], text.data(), text.size())) > 0;)
    found.wrong.append(text.data(), static_cast<std::size_t>(n));
  ::close(result[0]);
  ::waitpid(child, &found.status, 0);
  return found;
}

/// True if the process ended normally, or by ThreadSanitizer's exit status, because some mutants are data races.
bool mutant_ended(int status) {
  constexpr int had_a_race = 66;
  return status == 0 || (thread_sanitized && WIFEXITED(status) && WEXITSTATUS(status) == had_a_race);
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("each seeded mutant is found by the bytes that it loses, and nothing is found without one") {
  const auto seed = test::seed();
  CAPTURE(seed);
  MESSAGE("seed " << seed);
  struct Seeded {
    Mutant mutant;
    const char* name;
  };
  for (const auto [mutant, name] :
       {Seeded{Mutant::DirtyDecidedAtFetch, "dirty decided at fetch"},
        Seeded{Mutant::VersionNotRaised, "version not raised"}, Seeded{Mutant::PinIgnored, "pin ignored"},
        Seeded{Mutant::StaleRegionPublished, "stale region published"},
        Seeded{Mutant::LastBlockShort, "last block short"},
        Seeded{Mutant::MoverWithoutVersionCheck, "mover without version check"},
        Seeded{Mutant::ReadersNotCounted, "readers not counted"}}) {
    CAPTURE(std::string{name});
    const auto [wrong, status] = look_for(mutant, steps_until_broken, seed, steps(400'000));
    CAPTURE(wrong);
    std::printf("%s: %s\n", name, wrong.c_str());
    CHECK(mutant_ended(status));
    CHECK(contains(wrong, "differs from byte"));
  }
  const auto none = look_for(Mutant::None, steps_until_broken, seed, 20'000);
  CHECK(none.wrong == "");
  CHECK(none.status == 0);
}

TEST_CASE("stores to windows that are not held back are lost, and windows under fire tell") {
  if (!has_windows()) return;
  const auto seed = test::seed();
  CAPTURE(seed);
  const auto mutant = look_for(Mutant::WritesNotHeld, windows_until_broken, seed, 60);
  CAPTURE(mutant.wrong);
  CHECK(mutant_ended(mutant.status));
  CHECK((contains(mutant.wrong, "lost") || contains(mutant.wrong, "an older page")));
  const auto none = look_for(Mutant::None, windows_until_broken, seed, 2);
  CHECK(none.wrong == "");
  CHECK(none.status == 0);
}
