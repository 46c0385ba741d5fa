// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Background work that is skipped on busy CPUs, and which thread does it instead.
#include "manager/rig.hpp"
#include "support/eventually.hpp"
#include "support/one_busy_cpu.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace tier::crowded_test {

using namespace tier::test;

namespace {

constexpr Bytes size = 1_MiB;

}  // namespace

TEST_CASE("while each core computes, prefetches between memories are refused and policies are told why") {
  OneBusyCpu cpu;
  Rig rig{RigOptions{.tiers = {fast_tier(8 * size), slow_tier(8 * size, true)},
                     .manager = {.threads = 1, .yields = true}}};
  const auto object = rig.make(size, 'a');
  const auto in_background = [&](TierIndex from, TierIndex to) {
    return rig.act(object, [&](PolicyContext& context, BlockId) {
      return context.in_background(from, to) ? Outcome::Done : Outcome::Full;
    }) == Outcome::Done;
  };
  CHECK(in_background(0, 1));
  REQUIRE(eventually([&] {
    rig.evict(object);  // no thread waits for this eviction
    if (rig.manager->prefetch(object.ref()) == Outcome::Full) return true;
    rig.manager->prefetch(object.ref());
    return false;
  }));
  CHECK(rig.manager->statistics().prefetches_refused > 0);
  CHECK(rig.holds(object, 'a'));
  rig.settle();
  cpu.stop();
  CHECK(eventually([&] { return in_background(1, 0); }));
  REQUIRE(rig.evict(object) == Outcome::Done);
  rig.settle();
  REQUIRE(rig.where(object) == 1);
  CHECK(eventually([&] { return rig.manager->prefetch(object.ref()) == Outcome::Done; }));
  rig.settle();
  CHECK(rig.where(object) == 0);
}

TEST_CASE("without movers nothing costs less in the background") {
  Rig rig{RigOptions{.tiers = {fast_tier(2 * size), slow_tier(2 * size, false)},
                     .manager = {.threads = 1, .movers = 0}}};
  const auto object = rig.make(size, 'a');
  CHECK(rig.act(object, [&](PolicyContext& context, BlockId) {
    return context.in_background(0, 1) ? Outcome::Done : Outcome::Gone;
  }) == Outcome::Gone);
}

TEST_CASE("who lacks the room of what is on its way out helps it out") {
  Rig rig{
      RigOptions{.tiers = {fast_tier(2 * size), slow_tier(4 * size, false), slowest_tier(4 * size, false)},
                 .manager = {.threads = 1, .movers = 1, .yields = false}}};
  const auto held = rig.make(size, 'a'), leaving = rig.make(size, 'b');
  HoldFirst hold{*rig.tiers[1], Direction::Write};
  REQUIRE(rig.evict(held, 1) == Outcome::Done);
  hold.wait_for_arrival();  // holds up the only mover
  REQUIRE(rig.evict(leaving, 2) == Outcome::Done);
  const auto third = rig.make(size, 'c');  // waits for no mover
  CHECK_FALSE(hold.is_open());
  CHECK(rig.where(leaving) == 2);
  CHECK(rig.where(third) == 0);
  hold.open();
  rig.settle();
  CHECK(rig.holds(held, 'a'));
  CHECK(rig.holds(leaving, 'b'));
  CHECK(rig.holds(third, 'c'));
}

}  // namespace tier::crowded_test
