// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  An eviction that first needs room in a tier further down, where the lock is released: events that may come
///        meanwhile to the leaving blocks.
#include "rig.hpp"

#include <doctest/doctest.h>

#include <optional>

namespace tier::nested_evictions_test {
namespace {

using namespace test;

enum class Maker { Scope, Create };

/// Three tiers without free room. The last holds an old copy of `middle`, and `filler`. A request for room in the first
/// tier moves `middle` down to make room for `top`.
struct Cascade {
  explicit Cascade(bool addressable)
      : rig{RigOptions{{fast_tier(1_MiB), slow_tier(1_MiB, addressable), slowest_tier(4_MiB, false)},
                       {.threads = 1, .yields = false}}} {
    filler = rig.manager->allocate_fixed(1_MiB, 64, 2, "filler");
    wanted = rig.manager->create(1_MiB, 64, "wanted");
    rig.manager->retire(wanted.ref());
    middle = rig.make(1_MiB, 'x', "middle");
    demote(middle, 2);
    rig.write(middle, 'm');
    demote(middle, 1);
    top = rig.make(1_MiB, 't', "top");
    rig.settle();
    REQUIRE(rig.where(top) == 0);
    REQUIRE(rig.where(middle) == 1);
    for (std::size_t t = 0; t < 2; ++t) REQUIRE(rig.used(t) == rig.tiers[t]->capacity());
    REQUIRE(rig.used(2) == 2_MiB);  // the rest is kept for exchanges
  }
  void demote(const ObjectHandle& object, TierIndex to) {
    REQUIRE(rig.evict(object, to) == Outcome::Done);
    rig.settle();
    REQUIRE(rig.where(object) == to);
  }
  void make_room(Maker how) {
    if (how == Maker::Create)
      wanted = rig.manager->create(1_MiB, 64, "wanted");
    else
      rig.write(wanted, 'w');
  }
  /// Checks that all bytes are right, and that all room is free once the objects are gone.
  void check(Maker how, char of_top, char of_middle) {
    rig.settle();
    filler = {};  // objects need its room to change places
    if (how == Maker::Scope) CHECK(rig.holds(wanted, 'w'));
    rig.write(wanted, 'W');
    CHECK(rig.holds(wanted, 'W'));
    if (top) CHECK(rig.holds(top, of_top));
    if (middle) CHECK(rig.holds(middle, of_middle));
    for (auto* object : {&top, &middle, &wanted}) object->reset();
    rig.settle();
    for (std::size_t t = 0; t < 3; ++t) CHECK(rig.used(t) == 0_B);
    CHECK(rig.manager->statistics().blocks == 0);
  }

  Rig rig;
  PlacedStorage filler;
  ObjectHandle middle, top, wanted;
};

/// Calls `meanwhile` while `middle` is on its way down.
template <class F>
void while_room_is_made_below(const F& meanwhile, char of_top = 't', char of_middle = 'm') {
  for (const bool addressable : {true, false}) {
    for (const Maker how : {Maker::Scope, Maker::Create}) {
      CAPTURE(addressable);
      CAPTURE(static_cast<int>(how));
      Cascade c{addressable};
      std::optional<HoldFirst> hold{std::in_place, *c.rig.tiers[2], Direction::Write};
      auto maker = in_thread([&] { c.make_room(how); });
      hold->wait_for_arrival();
      meanwhile(c, *hold);
      hold->open();
      maker.get();
      c.rig.settle();
      c.check(how, of_top, of_middle);
    }
  }
}

}  // namespace

TEST_CASE("an eviction makes room two tiers further down, and all bytes arrive") {
  while_room_is_made_below([](Cascade&, HoldFirst&) {});
}

TEST_CASE("what is to be evicted is retired while room is made for it") {
  while_room_is_made_below([](Cascade& c, HoldFirst&) {
    c.rig.manager->retire(c.top.ref());
    c.rig.manager->check_invariants();
    CHECK(c.rig.used(0) == 0_B);
    c.top.reset();
  });
}

TEST_CASE(
    "what is to be evicted is destroyed while room is made for it, and its block serves another object") {
  while_room_is_made_below(
      [](Cascade& c, HoldFirst& hold) {
        c.top.reset();
        CHECK(c.rig.used(0) == 0_B);
        c.top = c.rig.make(512_KiB, 'o', "other");
        CHECK_FALSE(hold.is_open());
      },
      'o');
}

TEST_CASE("what is to be evicted is overwritten while room is made for it") {
  while_room_is_made_below(
      [](Cascade& c, HoldFirst& hold) {
        c.rig.write(c.top, 'T');
        CHECK_FALSE(hold.is_open());
      },
      'T');
}

TEST_CASE("what is to be evicted is in use by the time that room for it has been made") {
  while_room_is_made_below(
      [](Cascade& c, HoldFirst& hold) {
        const Entered scope{c.rig, c.top, Use::Update};
        hold.open();
        until([&] { return c.rig.where(c.middle) == 2; });
        scope.fill('T');
      },
      'T');
}

TEST_CASE("what goes further down to make room is retired meanwhile") {
  while_room_is_made_below([](Cascade& c, HoldFirst&) {
    c.rig.manager->retire(c.middle.ref());
    CHECK(c.rig.used(1) == 1_MiB);  // the device still reads it
    c.middle.reset();
  });
}

TEST_CASE("what goes further down to make room is destroyed meanwhile") {
  while_room_is_made_below([](Cascade& c, HoldFirst&) {
    c.middle.reset();
    CHECK(c.rig.used(1) == 1_MiB);
  });
}

TEST_CASE("what goes further down to make room is overwritten meanwhile") {
  while_room_is_made_below(
      [](Cascade& c, HoldFirst& hold) {
        const auto& version = c.middle.ref().object->block->version;
        const auto before = version.load();
        auto writer = in_thread([&] { c.rig.write(c.middle, 'M'); });
        until([&] { return version > before; });
        c.filler = {};  // the writer needs a further place
        hold.open();
        writer.get();
      },
      't', 'M');
}

TEST_CASE("both blocks that are to leave are destroyed meanwhile") {
  while_room_is_made_below([](Cascade& c, HoldFirst&) {
    c.top.reset();
    c.middle.reset();
  });
}

TEST_CASE("room in one piece is made of many blocks where each needs room further down") {
  constexpr int parts = 4;
  Rig rig{RigOptions{{fast_tier(1_MiB), slow_tier(1_MiB, false), slowest_tier(3_MiB, false)},
                     {.threads = 1, .yields = false}}};
  auto wanted = rig.manager->create(1_MiB, 64, "wanted");
  rig.manager->retire(wanted.ref());
  std::vector<ObjectHandle> middle, top;
  for (char i = 0; i < parts; ++i) middle.push_back(rig.make(256_KiB, 'x'));
  for (const auto& object : middle) rig.evict(object, 2);
  rig.settle();
  for (char i = 0; i < parts; ++i) rig.write(middle[static_cast<std::size_t>(i)], static_cast<char>('m' + i));
  for (const auto& object : middle) rig.evict(object, 1);
  rig.settle();
  for (char i = 0; i < parts; ++i) top.push_back(rig.make(256_KiB, static_cast<char>('a' + i)));
  for (std::size_t t = 0; t < 3; ++t) REQUIRE(rig.used(t) == 1_MiB);
  CHECK_NOTHROW(rig.write(wanted, 'w'));
  rig.settle();
  CHECK(rig.holds(wanted, 'w'));
  CHECK(rig.where(wanted) == 0);
  wanted.reset();
  for (char i = 0; i < parts; ++i) {
    CHECK(rig.holds(top[static_cast<std::size_t>(i)], static_cast<char>('a' + i)));
    CHECK(rig.holds(middle[static_cast<std::size_t>(i)], static_cast<char>('m' + i)));
  }
  rig.settle();
}

}  // namespace tier::nested_evictions_test
