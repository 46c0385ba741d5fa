// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  An object is destroyed while a scope on it waits for room: the scope throws.
#include "rig.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <vector>

#include "support/windows.hpp"

namespace tier::destroyed_while_waiting_test {
namespace {

using namespace test;

/// Two objects on a device and one that fills the fast tier.
struct Waiting {
  Waiting() {
    for (auto* object : {&cold, &beside}) {
      REQUIRE(rig.evict(*object) == Outcome::Done);
      rig.settle();
    }
    hot = rig.make(8_MiB, 'h', "hot");
  }
  std::future<void> scope(Use use) {
    op = Operand::of(cold.ref(), use);
    return in_thread([this] {
      rig.manager->enter({&op, 1}, {1, true, {}});
      Manager::leave({&op, 1});
    });
  }
  void check(std::future<void>& scope) {
    CHECK_THROWS_AS(scope.get(), TierError);
    CHECK_FALSE(op.entered);
    rig.manager->end_of_step();
    rig.settle();
    CHECK(rig.manager->statistics().blocks == 2);
    CHECK(rig.holds(beside, 'b'));
    CHECK(rig.holds(hot, 'h'));
  }
  /// Checks that only its objects and the rig keep the manager alive.
  void check_end() {
    const std::weak_ptr<Manager> manager = rig.manager;
    beside.reset();
    hot.reset();
    rig.manager.reset();
    CHECK(manager.expired());
  }

  Rig rig{8_MiB, 32_MiB, false};
  ObjectHandle cold = rig.make(1_MiB, 'c', "cold"), beside = rig.make(1_MiB, 'b', "beside"), hot;
  Operand op;
};

class Stalls final : public Observer {
 public:
  void on_miss(const MissEvent&) noexcept override { ++misses; }
  std::atomic<int> misses{0};
};

}  // namespace

TEST_CASE("a scope keeps the manager of an object that has gone, whenever the policy frees") {
  for (const bool early : {true, false}) {
    CAPTURE(early);
    Rig rig{8_MiB, 16_MiB, true};
    rig.policy->early = early;
    auto object = rig.make(1_MiB, 'a');
    std::optional<Entered> scope{std::in_place, rig, object, Use::Read};
    object.reset();
    const std::weak_ptr<Manager> manager = rig.manager;
    rig.manager.reset();
    REQUIRE(!manager.expired());
    CHECK(scope->all_are('a'));
    scope.reset();
    CHECK(manager.expired());
  }
}

TEST_CASE("an object is destroyed while a scope on it waits until others are unpinned") {
  for (const bool early : {true, false}) {
    for (const Use use : {Use::Read, Use::Update, Use::Overwrite}) {
      CAPTURE(early);
      CAPTURE(static_cast<int>(use));
      Waiting w;
      w.rig.policy->early = early;
      std::optional<Entered> holder{std::in_place, w.rig, w.hot, Use::Read};
      Stalls observer;
      w.rig.manager->add_observer(observer);
      auto scope = w.scope(use);
      until([&] { return observer.misses > 0; });
      std::ignore = w.rig.manager->statistics();  // takes the lock, which the scope releases when it waits
      w.cold.reset();
      holder.reset();
      w.check(scope);
      w.rig.manager->remove_observer(observer);
      w.check_end();
    }
  }
}

TEST_CASE(
    "an object that a scope has entered is destroyed while it makes room for another one, and gives up") {
  for (const bool early : {true, false}) {
    CAPTURE(early);
    Rig rig{8_MiB, 32_MiB, false};
    rig.policy->early = early;
    auto cold = rig.make(1_MiB, 'c', "cold");
    REQUIRE(rig.evict(cold) == Outcome::Done);
    rig.settle();
    auto present = rig.make(1_MiB, 'p', "present"), hot = rig.make(7_MiB, 'h', "hot");
    const Block& block = *present.ref().object->block;
    std::vector<Operand> batch{Operand::of(present.ref(), Use::Read), Operand::of(cold.ref(), Use::Read)};
    HoldFirst hold{rig.slow(), Direction::Write};
    auto scope = in_thread([&] {
      rig.manager->enter(batch, {1, true, {}});
      Manager::leave(batch);
    });
    hold.wait_for_arrival();
    REQUIRE(block.pins() == 1);
    present.reset();
    std::optional<Entered> holder{std::in_place, rig, hot, Use::Update};  // keeps room occupied
    hold.open();
    until([&] { return block.pins() == 0; });
    holder.reset();
    CHECK_THROWS_AS(scope.get(), TierError);
    rig.manager->end_of_step();
    rig.settle();
    CHECK(rig.holds(cold, 'c'));
    CHECK(rig.holds(hot, 'h'));
    const std::weak_ptr<Manager> manager = rig.manager;
    cold.reset();
    hot.reset();
    rig.manager.reset();
    CHECK(manager.expired());
  }
}

TEST_CASE("an object is destroyed while others leave to make room for a scope on it") {
  for (const Use use : {Use::Read, Use::Update, Use::Overwrite}) {
    for (const bool another_comes : {false, true}) {
      CAPTURE(static_cast<int>(use));
      CAPTURE(another_comes);
      Waiting w;
      HoldFirst hold{w.rig.slow(), Direction::Write};
      auto scope = w.scope(use);
      hold.wait_for_arrival();
      w.cold.reset();
      ObjectHandle other;
      if (another_comes) {  // reuses the descriptor
        w.rig.policy->placement = {1, false};
        other = w.rig.manager->create(2_MiB, 64, "other");
      }
      hold.open();
      if (another_comes) {
        CHECK_THROWS_AS(scope.get(), TierError);
        w.rig.write(other, 'o');
        CHECK(w.rig.holds(other, 'o'));
      } else {
        w.check(scope);
      }
      w.rig.settle();
    }
  }
}

TEST_CASE("a scope that brings a window back keeps the manager of an object that has gone meanwhile") {
  if (!has_windows()) return;
  Rig rig{8_MiB, 32_MiB, false};
  auto window = rig.manager->create_window(1_MiB, 64, "window");
  auto hot = rig.make(7_MiB, 'h', "hot");
  Manager& manager = *rig.manager;
  manager.retire(window.ref());
  auto filler = rig.make(1_MiB, 'f', "filler");
  Operand op = Operand::of_window(window.ref(), Use::Overwrite);
  REQUIRE(!op.entered);
  HoldFirst hold{rig.slow(), Direction::Write};
  auto scope = in_thread([&] {
    manager.enter({&op, 1}, {1, true, {}});
    Manager::leave({&op, 1});
  });
  hold.wait_for_arrival();
  const std::weak_ptr<Manager> alive = rig.manager;
  auto end = in_thread([&] {
    window.reset();
    hot.reset();
    filler.reset();
    rig.manager.reset();
  });
  CHECK(ends(end));
  CHECK(!alive.expired());
  hold.open();
  CHECK_THROWS_AS(scope.get(), TierError);
  CHECK(alive.expired());
}

TEST_CASE("where nothing is freed early, what is destroyed while a scope waits for it goes with the step") {
  for (const Use use : {Use::Read, Use::Update, Use::Overwrite}) {
    CAPTURE(static_cast<int>(use));
    Waiting w;
    w.rig.policy->early = false;
    HoldFirst hold{w.rig.slow(), Direction::Write};
    auto scope = w.scope(use);
    hold.wait_for_arrival();
    w.cold.reset();
    hold.open();
    w.check(scope);
    w.check_end();
  }
}

}  // namespace tier::destroyed_while_waiting_test
