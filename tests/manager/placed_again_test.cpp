// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  A retired object that is overwritten begins where the policy places new objects.
#include "rig.hpp"

#include <doctest/doctest.h>

namespace tier::placed_again_test {
namespace {

using namespace test;

/// Counts the questions to the policy.
class Asked final : public Observer {
 public:
  void on_allocation(const AllocationEvent&) noexcept override { ++places; }
  void on_miss(const MissEvent& event) noexcept override {
    ++misses;
    from = event.block.tier;
  }
  int places = 0, misses = 0;
  TierIndex from = no_tier;
};

struct Again {
  explicit Again(bool addressable) : rig{8_MiB, 64_MiB, addressable} {
    rig.manager->retire(object.ref());
    rig.manager->add_observer(asked);
  }
  ~Again() {
    rig.manager->remove_observer(asked);
    rig.settle();
  }
  void overwrite() {
    rig.write(object, 'n');
    CHECK(asked.places == 1);
  }

  Asked asked;
  Rig rig;
  ObjectHandle object = rig.make(5_MiB, 'o');
};

}  // namespace

TEST_CASE("what is placed in fast memory needs no decision about its use") {
  Again a{true};
  a.overwrite();
  CHECK(a.asked.misses == 0);
  CHECK(a.rig.where(a.object) == 0);
  CHECK(a.rig.holds(a.object, 'n'));
}

TEST_CASE("what is placed in slow memory is a miss there, as a new object's first use is") {
  for (const MissDecision miss :
       {MissDecision{no_tier, false}, MissDecision{no_tier, true}, MissDecision{0, false}}) {
    CAPTURE(miss.tier);
    CAPTURE(miss.remember);
    Again a{true};
    a.rig.policy->placement = {1, false};
    a.rig.policy->miss = miss;
    a.overwrite();
    CHECK(a.asked.misses == 1);
    CHECK(a.asked.from == 1);
    CHECK(a.rig.where(a.object) == (miss.tier == 0 ? 0 : 1));
    CHECK(a.rig.used(miss.tier == 0 ? 1 : 0) == 0_B);
    const auto used_in_place = a.rig.manager->statistics().in_place_operands;
    CHECK(used_in_place == (miss.tier == 0 ? 0u : 1u));
    CHECK(a.rig.holds(a.object, 'n'));
  }
}

TEST_CASE("a policy that makes no room in fast memory evicts nothing for it") {
  Again a{true};
  a.rig.policy->placement = {0, false};
  a.rig.policy->miss = {no_tier, true};
  const auto first = a.rig.make(6_MiB, 'f', "first");
  a.asked.places = 0;
  a.overwrite();
  CHECK(a.rig.where(first) == 0);
  CHECK(a.rig.where(a.object) == 1);
  CHECK(a.rig.holds(a.object, 'n'));
}

TEST_CASE("what two threads bring back at once has the place of whoever was faster, and his bytes") {
  Rig rig{8_MiB, 64_MiB, true};
  const auto object = rig.make(5_MiB, 'o');
  const auto id = object.ref().object->block->id;
  rig.manager->retire(object.ref());
  const auto victim = rig.make(5_MiB, 'v');
  HoldFirst hold{rig.slow(), Direction::Write};
  auto slower = in_thread([&] { rig.manager->revive(id); });
  hold.wait_for_arrival();
  rig.policy->placement = {1, false};
  rig.policy->miss = {1, false};
  rig.manager->revive(id);
  rig.write(object, 'n', Use::Update);
  CHECK_FALSE(hold.is_open());
  hold.open();
  slower.get();
  rig.settle();
  CHECK(rig.where(object) == 1);
  CHECK(rig.holds(object, 'n'));
  CHECK(rig.used(0) == 0_B);
  CHECK(rig.holds(victim, 'v'));
}

TEST_CASE("a policy that makes room does so") {
  Again a{true};
  const auto first = a.rig.make(6_MiB, 'f', "first");
  a.asked.places = 0;
  a.overwrite();
  CHECK(a.rig.where(first) == 1);
  CHECK(a.rig.where(a.object) == 0);
}

TEST_CASE("where the CPU cannot use the slow tier, it comes to the fast one whatever the policy says") {
  for (const Placement placement : {Placement{0, false}, Placement{1, false}, Placement{1, true}}) {
    CAPTURE(placement.tier);
    CAPTURE(placement.make_room);
    Again a{false};
    a.rig.policy->placement = placement;
    a.rig.policy->miss = {no_tier, true};
    const auto first = a.rig.manager->create(6_MiB, 64, "first");
    a.rig.write(first, 'f');
    a.asked.places = 0;
    a.overwrite();
    CHECK(a.rig.where(a.object) == 0);
    CHECK(a.rig.holds(a.object, 'n'));
    CHECK(a.rig.holds(first, 'f'));
  }
}

TEST_CASE("a batch that names it twice asks once, and one that fails leaves it retired and holds nothing") {
  Again a{true};
  a.rig.policy->placement = {1, false};
  a.rig.policy->miss = {no_tier, false};
  const auto twice = Operand::of(a.object.ref(), Use::Overwrite);
  std::vector<Operand> batch{twice, twice};
  SUBCASE("twice") {
    a.rig.manager->enter(batch, {1, true, {}});
    Manager::leave(batch);
    CHECK(a.asked.places == 1);
    CHECK(a.rig.used(1) == 5_MiB);
  }
  SUBCASE("fails") {
    auto gone = a.rig.make(1_MiB, 'g', "gone");
    a.rig.manager->retire(gone.ref());
    batch.back() = Operand::of(gone.ref(), Use::Read);
    CHECK_THROWS_AS(a.rig.manager->enter(batch, {1, true, {}}), TierError);
    CHECK(a.rig.used(0).count + a.rig.used(1).count == 0);
    CHECK_THROWS_AS(a.rig.holds(a.object, 'n'), TierError);
  }
}

}  // namespace tier::placed_again_test
