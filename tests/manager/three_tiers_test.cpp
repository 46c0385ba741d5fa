// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Demotion over three tiers: it cascades, it skips full tiers, and it ends.
#include "rig.hpp"

#include <doctest/doctest.h>

#include <map>

namespace tier::three_tiers_test {
namespace {

using namespace test;

constexpr std::uint64_t size = 256 << 10;

RigOptions three(Bytes fast, Bytes slow, Bytes slowest, bool slow_addressable = true,
                 bool slowest_addressable = false) {
  return {{fast_tier(fast), slow_tier(slow, slow_addressable), slowest_tier(slowest, slowest_addressable)},
          {.threads = 1, .yields = false}};
}

}  // namespace

TEST_CASE("tiers are ordered by what reading takes, those that the CPU cannot address last") {
  Rig rig{RigOptions{{slowest_tier(1_MiB, true),
                      {"device", 1_MiB, std::chrono::nanoseconds{1}, false},
                      fast_tier(1_MiB),
                      slow_tier(1_MiB, true)},
                     {.threads = 1, .yields = false}}};
  std::vector<std::string> names;
  for (const auto& t : rig.manager->statistics().tiers) names.push_back(t.name);
  CHECK(names == std::vector<std::string>{"fast", "slow", "slowest", "device"});
}

TEST_CASE("a full middle tier gives way to what comes from above, and what was there goes further down") {
  for (const bool addressable : {true, false}) {
    CAPTURE(addressable);
    Rig rig{three(1_MiB, 1_MiB, 8_MiB, addressable)};
    std::vector<ObjectHandle> objects;
    for (char i = 0; i < 20; ++i) objects.push_back(rig.make(Bytes{size}, i));
    rig.settle();
    std::array<int, 3> in_tier{};
    for (const auto& object : rig.manager->object_statistics()) ++in_tier.at(object.tier);
    CHECK(in_tier[0] == 4);
    CHECK(in_tier[1] == 4);
    CHECK(in_tier[2] == 12);
    for (char i = 0; i < 20; ++i) CHECK(rig.holds(objects[static_cast<std::size_t>(i)], i));
    rig.settle();
  }
}

TEST_CASE("no operand leaves its tier to make room for another one of its batch") {
  struct Sends final : Policy {  // each object to the tier in its name
    std::string_view name() const noexcept override { return "sends"; }
    Placement place(const AllocationEvent& event, PolicyContext&) override {
      return {static_cast<TierIndex>(event.name[0] - '0'), true};
    }
    MissDecision on_miss(const MissEvent& event, PolicyContext&) override {
      asked.emplace_back(event.operands.begin(), event.operands.end());
      return {wanted.at(event.block.id), false};
    }
    std::map<BlockId, TierIndex> wanted;
    std::vector<std::vector<OperandFacts>> asked;
  };
  auto policy = std::make_unique<Sends>();
  auto& sends = *policy;
  std::vector<std::unique_ptr<Tier>> tiers;
  for (const auto& t : {fast_tier(1_MiB), slow_tier(1_MiB, true), slowest_tier(8_MiB, false)})
    tiers.push_back(std::make_unique<MemoryTier>(t));
  const auto manager = Manager::make(std::move(tiers), std::move(policy), {.threads = 1, .yields = false});
  auto middle = manager->create(512_KiB, 64, "1"), also = manager->create(512_KiB, 64, "1");
  auto below = manager->create(512_KiB, 64, "2");
  std::vector<Operand> batch{Operand::of(below.ref(), Use::Read), Operand::of(middle.ref(), Use::Read)};
  sends.wanted = {{batch[0].block->id, 1}, {batch[1].block->id, 0}};
  manager->enter(batch, {1, true, {}});
  const auto objects = manager->object_statistics();
  CHECK(objects[0].evictions == 0);  // `also` left instead
  CHECK(objects[0].tier == 0);
  CHECK(objects[1].tier == 2);
  CHECK(objects[2].tier == 1);
  Manager::leave(batch);
  // On each miss the policy saw the whole batch.
  REQUIRE(sends.asked.size() >= 2);
  for (const auto& operands : sends.asked) {
    REQUIRE(operands.size() == 2);
    CHECK(operands[0].block == batch[0].block->id);
    CHECK(operands[1].block == batch[1].block->id);
    CHECK(operands[1].tier == 1);
  }
  manager->check_invariants();
}

TEST_CASE("a middle tier that can hold none of it is skipped") {
  Rig rig{three(1_MiB, 128_KiB, 8_MiB)};
  std::vector<ObjectHandle> objects;
  for (char i = 0; i < 12; ++i) objects.push_back(rig.make(Bytes{size}, i));
  CHECK(rig.used(1) == 0_B);
  for (char i = 0; i < 12; ++i) CHECK(rig.holds(objects[static_cast<std::size_t>(i)], i));
  rig.settle();
}

TEST_CASE("a middle tier whose blocks are pinned is skipped") {
  Rig rig{three(1_MiB, 1_MiB, 8_MiB)};
  auto pinned = rig.make(1_MiB, 'p');
  rig.evict(pinned);
  rig.settle();
  rig.policy->miss = {no_tier, false};
  const Entered scope{rig, pinned, Use::Read};
  REQUIRE(rig.where(pinned) == 1);
  std::vector<ObjectHandle> objects;
  for (char i = 0; i < 8; ++i) objects.push_back(rig.make(Bytes{size}, i));
  rig.settle();
  CHECK(rig.used(2).count == 4 * size);
  CHECK(scope.all_are('p'));
}

TEST_CASE("a policy sends each block of a run where it wants, or lets it stay") {
  Rig rig{three(1_MiB, 8_MiB, 8_MiB)};
  std::vector<ObjectHandle> objects;
  for (char i = 0; i < 4; ++i) objects.push_back(rig.make(Bytes{size}, i));
  std::vector<TierIndex> to;
  SUBCASE("down to different tiers") {
    rig.policy->on_choose = [&](const RoomRequest&, std::span<const Run> runs, PolicyContext&) {
      for (std::size_t i = 0; i < runs[0].blocks.size(); ++i) to.push_back(i % 2 == 0 ? 2 : 1);
      return RunChoice{0, to};
    };
    auto large = rig.manager->create(Bytes{2 * size}, 64, "large");
    CHECK(rig.where(objects[0]) == 2);
    CHECK(rig.where(objects[1]) == 1);
  }
  SUBCASE("elsewhere in the tier") {
    objects[1].reset();
    objects[3].reset();  // two holes of a quarter each
    rig.policy->on_choose = [&](const RoomRequest& request, std::span<const Run> runs, PolicyContext&) {
      to.assign(runs[0].blocks.size(), request.tier);
      return RunChoice{0, to};
    };
    auto large = rig.manager->create(Bytes{2 * size}, 64, "large");
    CHECK(rig.where(objects[0]) == 0);
    CHECK(rig.where(objects[2]) == 0);
    CHECK(rig.where(large) == 0);
    CHECK(rig.manager->statistics().evictions == 0);
  }
  for (std::size_t i : {0U, 2U}) CHECK(rig.holds(objects[i], static_cast<char>(i)));
  rig.settle();
}

TEST_CASE("of two tiers that the CPU cannot address a block is fetched from either, and moves between them") {
  Rig rig{three(1_MiB, 2_MiB, 8_MiB, false, false)};
  auto object = rig.make(Bytes{size}, 'a');
  REQUIRE(rig.evict(object, 1) == Outcome::Done);
  rig.settle();
  REQUIRE(rig.evict(object, 2) == Outcome::Done);
  rig.settle();
  CHECK(rig.where(object) == 2);
  CHECK(rig.used(1) == 0_B);
  REQUIRE(rig.act(object, [](PolicyContext& c, BlockId id) { return c.fetch(id, 1, false); }) ==
          Outcome::Done);
  rig.settle();
  CHECK(rig.where(object) == 1);
  CHECK(rig.holds(object, 'a'));
}

TEST_CASE(
    "an overwrite of what moves between two devices waits for neither, and a reader reads it afterwards") {
  Rig rig{three(1_MiB, 2_MiB, 8_MiB, false, false)};
  auto object = rig.make(Bytes{size}, 'a'), other = rig.make(Bytes{size}, 'o');
  for (auto* moved : {&object, &other}) REQUIRE(rig.evict(*moved, 1) == Outcome::Done);
  rig.settle();
  {
    Hold hold{*rig.tiers[2], Direction::Write};
    REQUIRE(rig.evict(other, 2) == Outcome::Done);
    hold.wait_for_arrival();
    REQUIRE(rig.evict(object, 2) == Outcome::Done);
    auto reader = in_thread([&] { return rig.holds(other, 'o'); });
    auto writer = in_thread([&] { rig.write(object, 'b'); });
    CHECK(ends(writer));
    CHECK_FALSE(hold.is_open());
    hold.open();
    CHECK(reader.get());
  }
  rig.settle();
  CHECK(rig.holds(object, 'b'));
  CHECK(rig.holds(other, 'o'));
}

TEST_CASE("a nested scope on what lies on a device may use it in a slower tier that the CPU reaches") {
  Rig rig{three(1_MiB, 1_MiB, 8_MiB)};
  auto object = rig.make(Bytes{size}, 'a');
  rig.evict(object, 2);
  rig.settle();
  auto holder = rig.make(1_MiB, 'h');
  const Entered outer{rig, holder, Use::Read};
  const Entered nested{rig, object, Use::Update, false};
  CHECK(nested.all_are('a'));
  CHECK(nested.address() >= rig.slow().base());
  CHECK(nested.address() < rig.slow().base() + rig.slow().capacity().count);
}

TEST_CASE("whether a scope succeeds does not depend on the tier that the policy wants") {
  Rig rig{three(1_MiB, 1_MiB, 8_MiB)};
  auto object = rig.make(Bytes{size}, 'a');
  rig.evict(object, 2);
  rig.settle();
  const auto placed = rig.manager->allocate_fixed(1_MiB, 64, 1, "placed");  // all of the middle tier
  rig.policy->miss = {1, true};
  CHECK(rig.holds(object, 'a'));
  CHECK(rig.where(object) == 0);
}

TEST_CASE(
    "objects up to the sum of all tiers but one are made, and one more is refused with the name of each "
    "tier") {
  Rig rig{three(1_MiB, 1_MiB, 2_MiB)};
  std::vector<ObjectHandle> objects;
  for (char i = 0; i < 15; ++i) objects.push_back(rig.make(Bytes{size}, i));
  try {
    std::ignore = rig.manager->create(Bytes{size}, 64, "too much");
    FAIL("there was room");
  } catch (const OutOfTierMemory& error) {
    const std::string message = error.what();
    CHECK(message.find("(too much)") != std::string::npos);
    for (const auto* name : {"fast", "slow", "slowest"}) CHECK(message.find(name) != std::string::npos);
  }
  rig.settle();
  // Blocks use the free room to change places.
  for (char i = 0; i < 15; ++i) CHECK(rig.holds(objects[static_cast<std::size_t>(i)], i));
  rig.settle();
}

}  // namespace tier::three_tiers_test
