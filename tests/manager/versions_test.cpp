// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Dirty blocks, versions of copies, and the time at which regions are freed.
#include "rig.hpp"

#include <doctest/doctest.h>

namespace tier::versions_test {
namespace {

using namespace test;

constexpr std::uint64_t size = 256 << 10;

template <class F>
void on_both_kinds_of_slow_tier(const F& test) {
  for (const bool addressable : {true, false}) {
    CAPTURE(addressable);
    Rig rig{1_MiB, 8_MiB, addressable};
    test(rig);
    rig.settle();
  }
}

std::uint64_t written(const Rig& rig) { return rig.manager->statistics().bytes_moved(0, 1); }
std::uint64_t fetched(const Rig& rig) { return rig.manager->statistics().bytes_moved(1, 0); }

}  // namespace

TEST_CASE("a read-only fetch, a write, an eviction and a read give what was written") {
  on_both_kinds_of_slow_tier([](Rig& rig) {
    auto object = rig.make(Bytes{size}, 'a');
    REQUIRE(rig.evict(object) == Outcome::Done);
    rig.settle();
    CHECK(rig.holds(object, 'a'));  // fetched to be read: clean
    CHECK_FALSE(rig.facts(object).dirty);
    rig.write(object, 'b', Use::Update);  // it is dirty from now on, not only at its eviction
    CHECK(rig.facts(object).dirty);
    REQUIRE(rig.evict(object) == Outcome::Done);
    rig.settle();
    CHECK(rig.where(object) == 1);
    CHECK(rig.holds(object, 'b'));
    CHECK(written(rig) == 2 * size);
  });
}

TEST_CASE("a clean block is dropped without a copy, by the policy and for room alike") {
  on_both_kinds_of_slow_tier([](Rig& rig) {
    auto object = rig.make(Bytes{size}, 'a');
    REQUIRE(rig.clean(object) == Outcome::Done);
    rig.settle();
    CHECK(rig.facts(object).current_copies == 0b11);
    CHECK(written(rig) == size);
    REQUIRE(rig.evict(object) == Outcome::Done);
    CHECK(rig.where(object) == 1);  // at once
    CHECK(rig.manager->statistics().evictions == 1);
    CHECK(rig.manager->statistics().dropped_clean == 1);
    CHECK(rig.holds(object, 'a'));
    auto large = rig.manager->create(1_MiB, 64, "large");
    CHECK(rig.where(object) == 1);
    CHECK(written(rig) == size);
    const auto s = rig.manager->statistics();
    CHECK(s.dropped_clean == s.evictions);
  });
}

TEST_CASE("a block that was never written costs no copy, whichever way it goes") {
  on_both_kinds_of_slow_tier([](Rig& rig) {
    auto object = rig.manager->create(Bytes{size}, 64, "fresh");
    REQUIRE(rig.evict(object) == Outcome::Done);
    rig.settle();
    CHECK(rig.where(object) == 1);
    REQUIRE(rig.manager->prefetch(object.ref()) == Outcome::Done);
    rig.settle();
    CHECK(rig.where(object) == 0);
    auto large = rig.manager->create(1_MiB, 64, "large");
    CHECK(rig.where(object) == 1);
    CHECK(written(rig) == 0);
    CHECK(fetched(rig) == 0);
  });
}

TEST_CASE(
    "an overwrite fetches nothing, and makes what is elsewhere stale, also if the scope ends by an "
    "exception") {
  on_both_kinds_of_slow_tier([](Rig& rig) {
    auto object = rig.make(Bytes{size}, 'a');
    rig.evict(object);
    rig.settle();
    try {
      const Entered scope{rig, object, Use::Overwrite};
      scope.fill('b');
      throw std::runtime_error{"on purpose"};
    } catch (const std::runtime_error&) {
    }
    CHECK(fetched(rig) == 0);
    CHECK(rig.facts(object).current_copies == 0b01);
    CHECK(rig.facts(object).dirty);
    rig.evict(object);
    rig.settle();
    CHECK(rig.holds(object, 'b'));
  });
}

TEST_CASE("an update of what was never written need not fetch, and a read of it enters") {
  on_both_kinds_of_slow_tier([](Rig& rig) {
    auto object = rig.manager->create(Bytes{size}, 64, "fresh");
    rig.evict(object);
    rig.settle();
    CHECK(Entered{rig, object, Use::Read}.address() != nullptr);
    rig.write(object, 'u', Use::Update);
    CHECK(fetched(rig) == 0);
    CHECK(rig.holds(object, 'u'));
  });
}

TEST_CASE("a stale copy is the place to write back to, and is no longer there when its tier needs the room") {
  on_both_kinds_of_slow_tier([](Rig& rig) {
    auto object = rig.make(Bytes{size}, 'a');
    rig.clean(object);
    rig.settle();
    rig.write(object, 'b');
    CHECK(rig.used(1).count == size);
    rig.evict(object);
    rig.settle();
    CHECK(rig.used(1).count == size);
    CHECK(rig.holds(object, 'b'));
    rig.write(object, 'c');
    rig.policy->placement = {1, true};
    auto filler = rig.manager->create(8_MiB, 64, "filler");  // takes all of the slow tier
    CHECK(rig.where(filler) == 1);
    CHECK(rig.holds(object, 'c'));
    CHECK(rig.manager->statistics().copies_dropped == 1);
    CHECK(rig.manager->statistics().dropped_clean == 0);
  });
}

TEST_CASE("retiring a pinned object marks it, and its bytes go with the last pin") {
  on_both_kinds_of_slow_tier([](Rig& rig) {
    auto object = rig.make(Bytes{size}, 'a');
    rig.clean(object);
    rig.settle();
    Entered first{rig, object, Use::Read}, second{rig, object, Use::Read, false};
    rig.manager->retire(object.ref());
    CHECK(first.all_are('a'));
    first.leave();
    CHECK(rig.used(0).count == size);
    CHECK(second.all_are('a'));
    second.leave();
    CHECK(rig.used(0) == 0_B);
    CHECK(rig.used(1) == 0_B);
    CHECK_THROWS_AS(rig.holds(object, 'a'), TierError);
    CHECK_THROWS_AS(rig.write(object, 'u', Use::Update), TierError);
    rig.write(object, 'b');
    CHECK(rig.holds(object, 'b'));
  });
}

TEST_CASE("destroying a pinned object frees its bytes with the last pin, on whatever thread") {
  on_both_kinds_of_slow_tier([](Rig& rig) {
    auto object = rig.make(Bytes{size}, 'a');
    Entered scope{rig, object, Use::Read};
    object.reset();
    CHECK(rig.manager->statistics().objects == 0);
    CHECK(scope.all_are('a'));
    CHECK(rig.used(0).count == size);
    in_thread([&] { scope.leave(); }).get();
    CHECK(rig.used(0) == 0_B);
    CHECK(rig.manager->statistics().blocks == 0);
  });
}

TEST_CASE(
    "an object that is retired while pinned can be overwritten in a nested scope, which does not wait") {
  on_both_kinds_of_slow_tier([](Rig& rig) {
    auto object = rig.make(Bytes{size}, 'a');
    {
      const Entered outer{rig, object, Use::Read};
      rig.manager->retire(object.ref());
      auto writer = in_thread([&] {
        const Entered nested{rig, object, Use::Overwrite, false};
        nested.fill('b');
      });
      CHECK(ends(writer));
    }
    CHECK(rig.used(0).count == size);  // the object is alive again
    CHECK(rig.holds(object, 'b'));
  });
}

TEST_CASE(
    "a block may stand several times in a batch: it is pinned as often, and written if one of them writes") {
  on_both_kinds_of_slow_tier([](Rig& rig) {
    auto object = rig.make(Bytes{size}, 'a');
    rig.evict(object);
    rig.settle();
    std::vector<Operand> batch{Operand::of(object.ref(), Use::Read), Operand::of(object.ref(), Use::Update),
                               Operand::of(object.ref(), Use::Overwrite)};
    rig.manager->enter(batch, {1, true, {}});
    CHECK(object.ref().object->block->pins() == 3);
    CHECK(batch[0].address == batch[2].address);
    CHECK(Rig::all_are(batch[0], 'a'));
    Manager::leave(batch);
    CHECK(rig.facts(object).dirty);
    CHECK(fetched(rig) == size);
  });
}

TEST_CASE("a block that stands many times in a batch needs room once") {
  on_both_kinds_of_slow_tier([](Rig& rig) {
    auto object = rig.make(Bytes{size}, 'a'), other = rig.make(Bytes{size}, 'o');
    for (auto* one : {&object, &other}) rig.evict(*one);
    rig.settle();
    std::vector<Operand> batch;
    for (int i = 0; i < 200; ++i)
      batch.push_back(Operand::of((i % 2 == 0 ? object : other).ref(), Use::Read));
    rig.manager->enter(batch, {1, true, {}});
    CHECK(object.ref().object->block->pins() == 100);
    Manager::leave(batch);
    CHECK(fetched(rig) == 2 * size);
  });
}

TEST_CASE("an empty object takes part like any other") {
  on_both_kinds_of_slow_tier([](Rig& rig) {
    auto empty = rig.manager->create(0_B, 64, "empty");
    CHECK(rig.holds(empty, 'x'));
    rig.evict(empty);
    rig.settle();
    CHECK(rig.holds(empty, 'x'));
  });
}

}  // namespace tier::versions_test
