// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Reserving disk space: which thread asks the system, which threads wait meanwhile, and the cost of a refusal.
#include <doctest/doctest.h>

#include <atomic>

#include "manager/rig.hpp"

namespace tier::space_test {
namespace {

using namespace test;

MemoryTierOptions asking(MemoryTierOptions tier) {
  tier.reserves = true;
  return tier;
}

/// A fast tier of 4 MiB, and a slow one that has to reserve its space.
struct AskingRig : Rig {
  explicit AskingRig(bool addressable = false)
      : Rig{RigOptions{{fast_tier(4_MiB), asking(slow_tier(16_MiB, addressable))}}} {}

  /// Holds up each reservation.
  std::shared_ptr<Gate> hold_questions() {
    auto gate = std::make_shared<Gate>();
    slow().reserve_fails = [gate](std::uint64_t, std::uint64_t) {
      gate->pass();
      return std::error_code{};
    };
    return gate;
  }
  /// Refuses each reservation, and counts them.
  void refuse(std::atomic<int>& asked) {
    slow().reserve_fails = [&asked](std::uint64_t, std::uint64_t) {
      ++asked;
      return std::make_error_code(std::errc::no_space_on_device);
    };
  }
  /// Makes calls that take the manager's lock.
  void use_others(const ObjectHandle& other) {
    write(other, 'o', Use::Update);
    manager->hint(Hint::Archive, other.ref(), 0);
    CHECK(holds(other, 'o'));
    std::ignore = manager->statistics();
    const auto made = manager->create(64_KiB, 64, "made meanwhile");
    manager->end_of_step();
  }
};

/// Returns the cause of the `OutOfTierMemory` that it throws.
std::error_code cause_of(auto&& action) {
  try {
    action();
  } catch (const OutOfTierMemory& error) {
    return error.cause();
  }
  return {};
}

}  // namespace

TEST_CASE("while the system looks for the space of a new object, all others go on") {
  AskingRig rig;
  const auto other = rig.make(1_MiB, 'o');
  const auto gate = rig.hold_questions();
  rig.policy->placement = {1, false};
  auto maker = in_thread([&] { return rig.manager->create(1_MiB, 64, "slow"); });
  gate->wait_for_arrival();
  rig.policy->placement = {0, true};
  auto others = in_thread([&] { rig.use_others(other); });
  CHECK(ends(others));
  CHECK_FALSE(gate->is_open());
  gate->open();
  const auto made = maker.get();
  CHECK(rig.where(made) == 1);
  rig.write(made, 'm');
  CHECK(rig.holds(made, 'm'));
  rig.settle();
}

TEST_CASE(
    "while the system looks for the space of what leaves, all others go on, and those who use it, too") {
  AskingRig rig;
  const auto other = rig.make(1_MiB, 'o');
  const auto leaving = rig.make(1_MiB, 'l');
  const auto gate = rig.hold_questions();
  REQUIRE(rig.evict(leaving) == Outcome::Done);
  gate->wait_for_arrival();
  auto others = in_thread([&] {
    rig.use_others(other);
    CHECK(rig.holds(leaving, 'l'));
    rig.write(leaving, 'w', Use::Update);
  });
  CHECK(ends(others));
  CHECK_FALSE(gate->is_open());
  gate->open();
  rig.settle();
  CHECK(rig.where(leaving) == 0);  // it was written meanwhile
  CHECK(rig.holds(leaving, 'w'));
}

TEST_CASE("what leaves without bytes takes its space all the same") {
  AskingRig rig{true};
  const auto fresh = rig.manager->create(1_MiB, 64, "never written");
  std::atomic<int> asked{0};
  rig.slow().reserve_fails = [&](std::uint64_t, std::uint64_t) { return ++asked, std::error_code{}; };
  REQUIRE(rig.evict(fresh) == Outcome::Done);
  rig.settle();
  CHECK(rig.where(fresh) == 1);
  CHECK(asked.load() == 1);
  const auto filler = rig.make(4_MiB, 'f');
  CHECK(asked.load() == 1);
  const auto second = rig.manager->create(1_MiB, 64, "never written");  // the filler leaves
  const auto before = asked.load();
  const auto third = rig.make(4_MiB, 't');
  CHECK(rig.where(second) == 1);
  CHECK(asked.load() == before + 1);
  CHECK(rig.holds(filler, 'f'));
}

TEST_CASE("a refusal asks the disk at most three times, loses nothing, and costs no room") {
  AskingRig rig;
  std::vector<ObjectHandle> small;
  for (int i = 0; i < 64; ++i) small.push_back(rig.make(64_KiB, static_cast<char>(i)));
  std::atomic<int> asked{0};
  rig.refuse(asked);
  std::error_code cause;
  SUBCASE("for a new object") {
    cause = cause_of([&] { std::ignore = rig.manager->create(1_MiB, 64, "next"); });
  }
  SUBCASE("for one that is placed there") {
    cause = cause_of([&] { std::ignore = rig.manager->allocate_fixed(1_MiB, 64, 1, "placed"); });
  }
  SUBCASE("for the room of a scope") {
    rig.slow().reserve_fails = nullptr;
    REQUIRE(rig.evict(small[0]) == Outcome::Done);
    rig.settle();
    const auto filler = rig.make(64_KiB, 'f');
    rig.refuse(asked);
    cause = cause_of([&] { std::ignore = rig.holds(small[0], 0); });
    rig.slow().reserve_fails = nullptr;
    CHECK(rig.holds(filler, 'f'));
  }
  CHECK(cause == std::errc::no_space_on_device);
  CHECK(asked >= 1);
  CHECK(asked <= 3);
  rig.settle();
  rig.slow().reserve_fails = nullptr;
  for (int i = 0; i < 64; ++i) CHECK(rig.holds(small[static_cast<std::size_t>(i)], static_cast<char>(i)));
  rig.settle();
  const auto before = rig.used(1);
  small.clear();
  std::vector<ObjectHandle> large;  // take all of the slow tier: no range was condemned
  rig.policy->placement = {1, false};
  for (int i = 0; i < 15; ++i) large.push_back(rig.manager->create(1_MiB, 64, "after"));
  CHECK(rig.used(1) >= 15_MiB - before);
  rig.settle();
}

TEST_CASE("disk space that comes back is found by the next call") {
  AskingRig rig;
  const auto a = rig.make(4_MiB, 'a');
  std::atomic<int> asked{0};
  rig.refuse(asked);
  CHECK_THROWS_AS(std::ignore = rig.manager->create(1_MiB, 64, "refused"), OutOfTierMemory);
  rig.slow().reserve_fails = nullptr;
  const auto b = rig.make(1_MiB, 'b');
  CHECK(rig.holds(a, 'a'));
  CHECK(rig.holds(b, 'b'));
  rig.settle();
}

}  // namespace tier::space_test
