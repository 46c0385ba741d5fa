// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tiers beside one that transfers whole sectors: padded regions, and small objects that move as a group.
#include "rig.hpp"

#include <doctest/doctest.h>

#include <set>
#include <tuple>

namespace tier::groups_test {
namespace {

using namespace test;

/// A hundred objects of a hundred bytes, each with its number in every byte.
struct Small {
  Small() : rig{1_MiB, 4_MiB, false} {
    for (char i = 0; i < 100; ++i) objects.push_back(rig.make(100_B, i, "small"));
  }
  Block* block(std::size_t i) const { return objects[i].ref().object->block; }
  bool all_hold() {
    for (std::size_t i = 0; i < objects.size(); ++i)
      if (objects[i] && !rig.holds(objects[i], static_cast<char>(i))) return false;
    return true;
  }

  Rig rig;
  std::vector<ObjectHandle> objects;
};

}  // namespace

TEST_CASE("beside a direct tier regions begin at whole sectors and are padded to them, in every tier") {
  Rig rig{1_MiB, 4_MiB, false};
  auto object = rig.make(4160_B, 'a');
  CHECK(rig.used(0) == 4608_B);
  auto next = rig.make(4096_B, 'n');
  CHECK(reinterpret_cast<std::uintptr_t>(next.ref().object->block->address.load()) % 512 == 0);
  REQUIRE(rig.evict(object) == Outcome::Done);
  rig.settle();
  CHECK(rig.used(1) == 4608_B);
  CHECK(rig.holds(object, 'a'));
}

TEST_CASE("a fetch that moves whole sectors touches nothing beyond its region") {
  Rig rig{64_KiB, 4_MiB, false};
  auto object = rig.make(4160_B, 'a');
  const auto placed = rig.manager->allocate_fixed(64_B, 64, 0, "placed");
  REQUIRE(placed.address() != nullptr);
  std::memset(placed.address(), 'p', 64);
  REQUIRE(rig.evict(object) == Outcome::Done);
  rig.settle();
  std::memset(rig.slow().contents(), 'x', std::size_t{64} << 10);
  rig.write(object, 'b', Use::Update);
  CHECK(
      std::all_of(placed.address(), placed.address() + 64, [](std::byte b) { return b == std::byte('p'); }));
}

TEST_CASE("without a direct tier no sector is padded and small objects have blocks of their own") {
  Rig rig{1_MiB, 4_MiB, true};
  auto a = rig.make(100_B, 'a'), b = rig.make(100_B, 'b');
  CHECK(a.ref().object->block != b.ref().object->block);
  CHECK(rig.used(0) == 256_B);
}

TEST_CASE("many objects of 100 bytes share one block of 64 KiB") {
  Small s;
  CHECK(s.rig.manager->statistics().blocks == 1);
  CHECK(s.rig.used(0) == 64_KiB);
  CHECK(s.all_hold());
  std::set<std::byte*> addresses;
  for (const auto& object : s.objects) {
    const Entered scope{s.rig, object, Use::Read};
    CHECK(reinterpret_cast<std::uintptr_t>(scope.address()) % 64 == 0);
    addresses.insert(scope.address());
  }
  CHECK(addresses.size() == 100);
}

TEST_CASE("more small objects than a group holds begin another, and alignment is kept in it") {
  Rig rig{1_MiB, 4_MiB, false};
  std::vector<ObjectHandle> objects;
  for (int i = 0; i < 40; ++i) objects.push_back(rig.manager->create(3000_B, 1024, "aligned"));
  CHECK(rig.manager->statistics().blocks == 2);
  for (const auto& object : objects) {
    const Entered scope{rig, object, Use::Read};
    CHECK(reinterpret_cast<std::uintptr_t>(scope.address()) % 1024 == 0);
  }
}

TEST_CASE("small objects move as one, with one transfer") {
  Small s;
  REQUIRE(s.rig.evict(s.objects[3]) == Outcome::Done);
  s.rig.settle();
  for (const auto& object : s.objects) CHECK(s.rig.where(object) == 1);
  CHECK(s.all_hold());
  const auto statistics = s.rig.manager->statistics();
  CHECK(statistics.bytes_moved(0, 1) == 64 << 10);
  CHECK(statistics.bytes_moved(1, 0) == 64 << 10);
}

TEST_CASE("a pinned small object keeps its whole group where it is") {
  Small s;
  const Entered scope{s.rig, s.objects[5], Use::Read};
  CHECK(s.rig.evict(s.objects[6]) == Outcome::Pinned);
}

TEST_CASE("overwriting a part of a group fetches the rest, whatever is thrown") {
  Small s;
  REQUIRE(s.rig.evict(s.objects[0]) == Outcome::Done);
  s.rig.settle();
  s.rig.write(s.objects[7], 'x', Use::Overwrite);
  CHECK(s.rig.manager->statistics().bytes_moved(1, 0) == 64 << 10);
  CHECK(s.rig.holds(s.objects[7], 'x'));
  s.rig.write(s.objects[7], 7);
  CHECK(s.all_hold());
}

TEST_CASE("an unreadable group fails all its parts, an overwritten part included") {
  Small s;
  REQUIRE(s.rig.evict(s.objects[0]) == Outcome::Done);
  s.rig.settle();
  {
    const Failing failing{s.rig.slow(), Direction::Read};
    CHECK_THROWS_AS(s.rig.holds(s.objects[1], 1), TierError);
    CHECK_THROWS_AS(s.rig.write(s.objects[2], 'x'), TierError);
  }
  CHECK(s.all_hold());
}

TEST_CASE("a destroyed part of a group is free for the next object, and the others keep theirs") {
  Small s;
  const Object* freed = s.objects[50].ref().object;
  const auto offset = freed->offset;
  s.objects[50].reset();
  CHECK(s.rig.manager->statistics().blocks == 1);
  auto next = s.rig.make(100_B, 'n');
  CHECK(next.ref().object->block == s.block(0));
  CHECK(next.ref().object->offset == offset);
  CHECK(s.all_hold());
  CHECK(s.rig.holds(next, 'n'));
}

TEST_CASE("retiring a part of a group leaves the others alone, and it can be written again") {
  Small s;
  s.rig.manager->retire(s.objects[50].ref());
  s.rig.write(s.objects[50], 'n');
  CHECK(s.rig.holds(s.objects[50], 'n'));
  s.rig.write(s.objects[50], 50);
  CHECK(s.all_hold());
}

TEST_CASE("a retired part of a group is read no more, and its place serves the next object") {
  Small s;
  const auto offset = s.objects[50].ref().object->offset;
  s.rig.manager->retire(s.objects[50].ref());
  s.rig.manager->retire(s.objects[50].ref());  // a second time changes nothing
  CHECK_THROWS_WITH_AS(s.rig.holds(s.objects[50], 50), doctest::Contains("retired object: small"), TierError);
  CHECK_THROWS_AS(s.rig.write(s.objects[50], 'u', Use::Update), TierError);
  auto next = s.rig.make(100_B, 'n');
  CHECK(next.ref().object->offset == offset);
  SUBCASE("written again, it has another place") {
    s.rig.write(s.objects[50], 50);
    CHECK(s.objects[50].ref().object->offset != offset);
  }
  SUBCASE("it is gone for good") { s.objects[50].reset(); }
  CHECK(s.rig.holds(next, 'n'));
  CHECK(s.all_hold());
  s.rig.settle();
}

TEST_CASE("a part that is retired while its group is pinned stays where it is until the last pin goes") {
  Small s;
  const auto offset = s.objects[50].ref().object->offset;
  {
    const Entered scope{s.rig, s.objects[50], Use::Update};
    s.rig.manager->retire(s.objects[50].ref());
    auto next = s.rig.make(100_B, 'n');
    CHECK(next.ref().object->offset != offset);
    CHECK(scope.all_are(50));
    SUBCASE("written meanwhile, it lives again in its old place") {
      s.rig.write(s.objects[50], 'w');
      CHECK(scope.all_are('w'));
      scope.fill(50);
    }
    SUBCASE("never written again") {}
  }
  if (s.objects[50].ref().object->retired) {
    CHECK(s.rig.make(100_B, 'm').ref().object->offset == offset);
    s.objects[50].reset();
  }
  CHECK(s.all_hold());
  s.rig.settle();
}

TEST_CASE("a retired part whose group has gone elsewhere gets a place in a new one") {
  Small s;
  s.rig.manager->retire(s.objects[50].ref());
  std::vector<ObjectHandle> more;
  const auto* const group = s.block(0);
  while (more.empty() || more.back().ref().object->block == group) more.push_back(s.rig.make(1_KiB, 'm'));
  s.rig.write(s.objects[50], 'n');
  CHECK(s.block(50) != group);
  for (std::size_t i = 0; i < 100; ++i)
    if (i != 50) s.objects[i].reset();
  CHECK(s.rig.holds(s.objects[50], 'n'));
  s.objects[50].reset();
  more.clear();
  CHECK(s.rig.used(0) == 0_B);
  s.rig.settle();
}

TEST_CASE(
    "a retired part that two threads bring back at once leaves its old group once, also if it is gone "
    "again") {
  enum class Then { Lives, IsRetired, IsDestroyed };
  auto then = Then::Lives;
  SUBCASE("it lives") {}
  SUBCASE("it was retired again") { then = Then::IsRetired; }
  SUBCASE("it was destroyed") { then = Then::IsDestroyed; }
  Rig rig{8_MiB, 64_MiB, false};
  constexpr auto size = 4032_B;  // a group holds 16
  std::vector<ObjectHandle> objects;
  for (char i = 0; i < 16; ++i) objects.push_back(rig.make(size, i));
  auto part = std::move(objects.front());
  rig.manager->retire(part.ref());
  objects.front() = rig.make(size, 'p');  // takes its place
  REQUIRE(rig.manager->statistics().blocks == 1);
  const auto filler = rig.make(8_MiB - 64_KiB, 'f');
  HoldFirst hold{rig.slow(), Direction::Write};
  auto slower = in_thread([&] { std::ignore = Operand::of(part.ref(), Use::Overwrite); });
  hold.wait_for_arrival();
  rig.policy->placement = {1, false};
  std::ignore = Operand::of(part.ref(), Use::Overwrite);
  if (then == Then::IsRetired) rig.manager->retire(part.ref());
  if (then == Then::IsDestroyed) part.reset();
  CHECK_FALSE(hold.is_open());
  hold.open();
  if (then == Then::IsDestroyed)
    CHECK_THROWS_AS(slower.get(), TierError);
  else
    slower.get();
  rig.settle();
  objects.erase(objects.begin(), objects.end() - 1);
  rig.settle();
  CHECK(rig.holds(objects.front(), 15));
  CHECK(rig.manager->statistics().blocks == (then == Then::IsDestroyed ? 2 : 3));
}

TEST_CASE("a group goes with its last object, whose pin keeps it") {
  Small s;
  {
    const Entered scope{s.rig, s.objects[99], Use::Read};
    for (auto& object : s.objects) object.reset();
    CHECK(s.rig.used(0) == 64_KiB);
    CHECK(scope.all_are(99));
  }
  CHECK(s.rig.used(0) == 0_B);
  CHECK(s.rig.manager->statistics().blocks == 0);
  s.rig.settle();
}

}  // namespace tier::groups_test
