// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The cost of use in place in an emulated tier.
#include "rig.hpp"
#include "support/charging_tier.hpp"

#include <doctest/doctest.h>

namespace tier::in_place_test {
namespace {

using namespace test;

constexpr Bytes size = 64_KiB;
constexpr auto whole = size.count;

/// Two tiers that charge, and a policy that places objects in one of them.
struct ChargingRig {
  explicit ChargingRig(TierIndex placed_in, MissDecision miss = {no_tier, false}) {
    std::vector<std::unique_ptr<Tier>> tiers;
    for (const auto& options : {fast_tier(1_MiB), slow_tier(4_MiB, true)}) {
      auto tier = std::make_unique<ChargingTier>(options);
      (options.name == "fast" ? fast : slow) = tier.get();
      tiers.push_back(std::move(tier));
    }
    auto scripted = std::make_unique<ScriptedPolicy>();
    policy = scripted.get();
    policy->placement = {placed_in, false};
    policy->miss = miss;
    manager = Manager::make(std::move(tiers), std::move(scripted), {.threads = 1, .yields = false});
  }
  ObjectHandle make() { return manager->create(size, 64, "object"); }
  /// Opens and closes a scope, the short way if that is open.
  void use(std::vector<Operand> batch) const {
    for (auto& op : batch)
      if (!(op.entered = op.block->try_enter(op.use, manager->clock().stamp()))) break;
    manager->enter(batch, {});
    Manager::leave(batch);
  }
  void use(const ObjectHandle& object, Use how) const { use({Operand::of(object.ref(), how)}); }

  ChargingTier* fast = nullptr;
  ChargingTier* slow = nullptr;
  ScriptedPolicy* policy = nullptr;
  std::shared_ptr<Manager> manager;
};

constexpr std::pair<Use, Charged> costs[] = {
    {Use::Read, {whole, 1, 0, 0}}, {Use::Update, {whole, 1, whole, 1}}, {Use::Overwrite, {0, 0, whole, 1}}};

}  // namespace

TEST_CASE("each use in place in an emulated tier is charged the whole object, read, written or both") {
  for (const bool remember : {false, true}) {
    for (const auto& [how, cost] : costs) {
      CAPTURE(remember);
      CAPTURE(to_string(how));
      ChargingRig rig{1, {no_tier, remember}};
      const auto object = rig.make();
      rig.use(object, Use::Overwrite);
      CHECK(rig.slow->take() == costs[2].second);
      for (int i = 0; i < 3; ++i) {
        rig.use(object, how);
        CHECK(rig.slow->take() == cost);
      }
      CHECK(rig.fast->take() == Charged{});
    }
  }
}

TEST_CASE("a fast tier that is emulated is charged for each use, too") {
  for (const auto& [how, cost] : costs) {
    CAPTURE(to_string(how));
    ChargingRig rig{0};
    const auto object = rig.make();
    rig.use(object, Use::Overwrite);
    rig.fast->take();
    for (int i = 0; i < 3; ++i) {
      rig.use(object, how);
      CHECK(rig.fast->take() == cost);
    }
    CHECK(rig.slow->take() == Charged{});
  }
}

TEST_CASE("every operand of a batch is charged for what the batch does with it") {
  ChargingRig rig{1};
  const auto a = rig.make(), b = rig.make(), c = rig.make();
  rig.use({Operand::of(a.ref(), Use::Read), Operand::of(b.ref(), Use::Update),
           Operand::of(c.ref(), Use::Overwrite)});
  CHECK(rig.slow->take() == Charged{2 * whole, 2, 2 * whole, 2});
}

TEST_CASE("what is fetched is charged to the slow tier for the copy, and no more for its use") {
  ChargingRig rig{1};
  const auto object = rig.make();
  rig.use(object, Use::Overwrite);
  rig.slow->take();
  rig.policy->miss = {0, false};
  rig.use(object, Use::Read);
  CHECK(rig.slow->take().bytes_read == whole);
  CHECK(rig.fast->take() == Charged{whole, 1, whole, 1});  // the write by the copy, and the read by the scope
  for (const auto& [how, cost] : costs) {
    rig.use(object, how);
    CHECK(rig.slow->take() == Charged{});
    CHECK(rig.fast->take() == cost);
  }
}

TEST_CASE("an entry that fails is charged nothing") {
  ChargingRig rig{1};
  const auto a = rig.make(), b = rig.make();
  rig.use(a, Use::Overwrite);
  rig.manager->retire(b.ref());
  rig.slow->take();
  CHECK_THROWS_AS(rig.use({Operand::of(a.ref(), Use::Read), Operand::of(b.ref(), Use::Read)}), TierError);
  CHECK(rig.slow->take() == Charged{});
}

}  // namespace tier::in_place_test
