// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Full tiers: blocks can still change places, so that all capacity can be used.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <vector>

#include "manager/rig.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"

namespace tier::exchange_test {
namespace {

using namespace test;

/// Fills tiers with objects; each has one value in every byte.
class Crowd {
 public:
  explicit Crowd(std::uint64_t seed) : random_{seed} {}

  /// Adds an object.   \return  false if there is no room
  bool add(Bytes size) {
    const auto value = static_cast<char>(random_());
    try {
      objects_.push_back({rig.make(size, value), value});
      return true;
    } catch (const OutOfTierMemory&) {
      return false;
    }
  }
  void fill(Bytes smallest, Bytes largest) {
    const auto any = [&] { return Bytes{smallest.count + random_() % (largest.count - smallest.count + 1)}; };
    for (int refused = 0; refused < 10;) refused += add(any()) ? 0 : 1;
    while (add(smallest)) {
    }
  }
  void free_half() {
    std::ranges::shuffle(objects_, random_);
    objects_.resize(objects_.size() / 2);
  }
  /// Reads all objects in random order and writes some.   \return  how many are wrong or out of reach
  std::size_t use_all() {
    std::ranges::shuffle(objects_, random_);
    std::size_t bad = 0;
    for (auto& object : objects_) try {
        bad += rig.holds(object.handle, object.value) ? 0 : 1;
        if (random_() % 2 == 0) rig.write(object.handle, ++object.value, Use::Update);
      } catch (const OutOfTierMemory& error) {
        MESSAGE(std::string{error.what()});
        ++bad;
      }
    return bad;
  }
  [[nodiscard]] Bytes living() {
    Bytes sum;
    for (const auto& object : objects_) sum += Bytes{object.handle.ref().object->size};
    return sum;
  }

  Rig rig{4_MiB, 12_MiB, false};

 private:
  struct Held {
    ObjectHandle handle;
    char value;
  };
  std::mt19937_64 random_;
  std::vector<Held> objects_;
};

}  // namespace

TEST_CASE(
    "whatever is there can be used when all tiers are full, and an allocation that would prevent that is "
    "refused") {
  const auto seed = test::seed();
  CAPTURE(seed);
  for (int round = 0; round < (long_form() ? 200 : 5); ++round) {
    CAPTURE(round);
    Crowd crowd{seed + static_cast<std::uint64_t>(round)};
    SUBCASE("of one size") {
      while (crowd.add(1_MiB)) {
      }
      CHECK(crowd.living() == 15_MiB);  // the last one takes the room that is kept for exchanges
      CHECK_THROWS_WITH_AS(std::ignore = crowd.rig.manager->create(1_MiB, 64, "more"),
                           doctest::Contains("some is kept free, so that blocks can be exchanged"),
                           OutOfTierMemory);
    }
    SUBCASE("of many sizes") { crowd.fill(4_KiB, 1_MiB); }
    SUBCASE("in groups") {
      while (crowd.add(3000_B)) {
      }
    }
    SUBCASE("some of them large") { crowd.fill(100_KiB, 3_MiB); }
    std::vector<PlacedStorage> stay;
    SUBCASE("of one size, beside what stays in the fast tier") {
      stay.push_back(crowd.rig.manager->allocate_fixed(300_KiB, 64, 0, "stays"));
      while (crowd.add(1_MiB)) {
      }
    }
    for (int again = 0; again < 3; ++again) {
      CHECK(crowd.use_all() == 0);
      crowd.rig.settle();
      crowd.free_half();
      crowd.fill(4_KiB, 2_MiB);
    }
  }
}

TEST_CASE(
    "a block that slides over its own place on a device is whole, whichever request fails, and used "
    "meanwhile") {
  // A block of 2.5 MiB behind 0.5 MiB of free room slides in three pieces.
  struct Sliding {
    Sliding() {
      const auto first = rig.make(512_KiB, 'f');
      large = rig.make(2_MiB + 512_KiB, 'l');
      const auto last = rig.make(512_KiB, 'x');
      for (const ObjectHandle* object : {&first, static_cast<const ObjectHandle*>(&large), &last}) {
        REQUIRE(rig.evict(*object) == Outcome::Done);
        rig.settle();
      }
    }
    Rig rig{8_MiB, 8_MiB, false};
    ObjectHandle large;
  };
  SUBCASE("failing requests") {
    for (int nth = 0; nth < 12; ++nth) {
      CAPTURE(nth);
      Sliding s;
      std::atomic<int> seen{0};
      s.rig.slow().fails = [&](Direction, std::uint64_t, std::uint64_t) {
        return seen++ == nth ? std::make_error_code(std::errc::io_error) : std::error_code{};
      };
      s.rig.manager->compact();
      s.rig.slow().fails = nullptr;
      CHECK(seen.load() > std::min(nth, 5));
      s.rig.settle();
      CHECK(s.rig.holds(s.large, 'l'));
      s.rig.manager->compact();
      CHECK(s.rig.holds(s.large, 'l'));
      s.rig.settle();
    }
  }
  SUBCASE("a scope waits for it") {
    Sliding s;
    Hold hold{s.rig.slow(), Direction::Write};
    auto compacting = in_thread([&] { s.rig.manager->compact(); });
    hold.wait_for_arrival();
    auto reading = in_thread([&] { return s.rig.holds(s.large, 'l'); });
    CHECK_FALSE(hold.is_open());
    hold.open();
    compacting.get();
    CHECK(reading.get());
    s.rig.settle();
  }
  SUBCASE("it is retired or destroyed") {
    for (const bool destroyed : {true, false}) {
      Sliding s;
      Hold hold{s.rig.slow(), Direction::Write};
      auto compacting = in_thread([&] { s.rig.manager->compact(); });
      hold.wait_for_arrival();
      destroyed ? s.large.reset() : s.rig.manager->retire(s.large.ref());
      hold.open();
      compacting.get();
      s.rig.settle();
      CHECK(s.rig.used(1) == 0_B);
      const auto other = s.rig.make(8_MiB, 'o');
      CHECK(s.rig.holds(other, 'o'));
    }
  }
}

TEST_CASE("a block of memory slides over its own place where no other place is free") {
  Rig rig{4_MiB, 2_MiB, true};
  auto first = rig.make(512_KiB, 'f');
  const auto large = rig.make(3_MiB, 'l');
  first.reset();
  CHECK(rig.manager->statistics().tiers[0].largest_free == 512_KiB);
  rig.manager->compact();
  rig.settle();
  CHECK(rig.manager->statistics().tiers[0].largest_free == 1_MiB);
  CHECK(rig.holds(large, 'l'));
  rig.write(large, 'm');
  CHECK(rig.holds(large, 'm'));
}

TEST_CASE("what is placed in the fastest tier leaves room for what must be brought there") {
  Rig rig{4_MiB, 64_MiB, false};
  std::vector<ObjectHandle> objects;
  for (int i = 0; i < 6; ++i) objects.push_back(rig.make(1_MiB, static_cast<char>(i)));
  CHECK_THROWS_WITH_AS(std::ignore = rig.manager->allocate_fixed(4_MiB, 64, 0, "all of it"),
                       doctest::Contains("some is kept free, so that blocks can be exchanged"),
                       OutOfTierMemory);
  const auto placed = rig.manager->allocate_fixed(3_MiB, 64, 0, "what may be");
  CHECK_THROWS_AS(std::ignore = rig.manager->allocate_fixed(64_KiB, 64, 0, "a little more"), OutOfTierMemory);
  for (int i = 0; i < 6; ++i) CHECK(rig.holds(objects[static_cast<std::size_t>(i)], static_cast<char>(i)));
  objects.clear();
  const auto rest = rig.manager->allocate_fixed(1_MiB, 64, 0, "the rest, since nothing has to come");
}

TEST_CASE("a tier that is not there is no place, and nothing migrates to it") {
  Rig rig{4_MiB, 12_MiB, true};
  const auto object = rig.make(1_MiB, 'a');
  const auto id = object.ref().object->block->id;
  CHECK_THROWS_WITH_AS(std::ignore = rig.manager->allocate_fixed(4_KiB, 64, 2, "nowhere"),
                       doctest::Contains("no such tier at position 0 of \"2\"; allowed: 0 to 1"),
                       ConfigError);
  CHECK_THROWS_AS(rig.manager->migrate({&id, 1}, 200), ConfigError);
  CHECK(rig.holds(object, 'a'));
}

TEST_CASE("a single tier, and tiers that the CPU reaches, keep no room") {
  Rig rig{4_MiB, 12_MiB, true};
  std::vector<ObjectHandle> objects;
  for (int i = 0; i < 16; ++i) objects.push_back(rig.make(1_MiB, static_cast<char>(i)));
  for (int i = 0; i < 16; ++i) CHECK(rig.holds(objects[static_cast<std::size_t>(i)], static_cast<char>(i)));
  Rig single{RigOptions{{fast_tier(4_MiB)}}};
  std::vector<ObjectHandle> all;
  for (int i = 0; i < 4; ++i) all.push_back(single.make(1_MiB, 'a'));
  CHECK_THROWS_AS(std::ignore = single.make(64_KiB, 'b'), OutOfTierMemory);
}

}  // namespace tier::exchange_test
