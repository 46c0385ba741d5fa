// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Scopes under pressure: threads that nest at random always end; large objects fit around pins, or throw.
#include "rig.hpp"
#include "support/seed.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <random>

namespace tier::termination_test {
namespace {

using namespace test;

/// One thread's program: root scopes with nested scopes of any depth, each of which keeps its pins.
class Nester {
 public:
  Nester(Rig& rig, std::vector<ObjectHandle>& objects, std::uint64_t seed, Bytes fast)
      : rig_{rig}, objects_{objects}, random_{seed}, fast_{fast.count} {}

  void run(int roots) {
    for (int i = 0; i < roots; ++i) {
      root();
      if (below(16) == 0) rig_.manager->prefetch(any().ref());
      if (below(16) == 0) rig_.manager->hint(Hint::Archive, any().ref(), 0);
      if (below(64) == 0) rig_.manager->end_of_step();
    }
  }
  int refused() const { return refused_; }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  const ObjectHandle& any() { return objects_[below(objects_.size())]; }
  /// Returns distinct objects that fit in fast memory together, with room for alignment.
  std::vector<Operand> batch(std::size_t most) {
    std::vector<Operand> chosen;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < most; ++i) {
      const auto& object = any();
      sum += object.size_bytes().count + 4096 + 512;  // the widest alignment, and a sector
      if (sum > fast_) break;
      const bool twice =
          std::ranges::any_of(chosen, [&](const Operand& op) { return op.object == object.ref().id(); });
      if (!twice) chosen.push_back(Operand::of(object.ref(), static_cast<Use>(below(3))));
    }
    return chosen;
  }
  void root() {
    auto operands = batch(1 + below(4));
    rig_.manager->enter(operands, {1, true, {}});  // a batch that fits must not throw, whatever is pinned
    nested(below(4));
    Manager::leave(operands);
  }
  void nested(std::uint64_t depth) {
    if (depth == 0) return;
    auto operands = batch(1 + below(3));
    try {
      rig_.manager->enter(operands, {1, false, {}});
    } catch (const OutOfTierMemory&) {
      ++refused_;
    }
    nested(depth - 1);
    Manager::leave(operands);
  }

  Rig& rig_;
  std::vector<ObjectHandle>& objects_;
  std::mt19937_64 random_;
  std::uint64_t fast_;
  int refused_ = 0;
};

std::vector<MemoryTierOptions> tiers(int count, bool addressable) {
  std::vector<MemoryTierOptions> options{fast_tier(256_KiB),
                                         slow_tier(count == 2 ? 4_MiB : 1_MiB, addressable)};
  if (count == 3) options.push_back(slowest_tier(4_MiB, addressable));
  return options;
}

}  // namespace

TEST_CASE("threads that nest scopes at random always end, and no root that fits ever fails") {
  const auto seed = test::seed();
  CAPTURE(seed);
  MESSAGE("seed " << seed);
  for (const int count : {2, 3}) {
    for (const bool addressable : {true, false}) {
      CAPTURE(count);
      CAPTURE(addressable);
      Rig rig{RigOptions{tiers(count, addressable), {.threads = 2, .movers = 2}}};
      std::mt19937_64 random{seed};
      std::vector<ObjectHandle> objects;
      for (int i = 0; i < 24; ++i) {
        const Bytes size{4096 + random() % (i % 6 == 0 ? 120'000 : 40'000)};
        objects.push_back(rig.manager->create(size, std::size_t{64} << random() % 7, "object"));
      }
      std::vector<std::future<int>> threads;
      for (std::uint64_t t = 0; t < 4; ++t)
        threads.push_back(in_thread([&, t] {
          Nester nester{rig, objects, seed + t, 256_KiB};
          nester.run(150);
          return nester.refused();
        }));
      for (auto& thread : threads) CHECK_NOTHROW(thread.get());
      rig.settle();
    }
  }
}

TEST_CASE(
    "around 10^4 random pins an object of 40 % of the tier fits, or the message says what is in its way") {
  const auto seed = test::seed();
  CAPTURE(seed);
  MESSAGE("seed " << seed);
  constexpr std::size_t objects_count = 2500;
  constexpr auto object_size = 4_KiB;
  constexpr Bytes fast = object_size * objects_count;
  Rig rig{fast, 4 * fast, false};
  auto large = rig.manager->create(fast * 2 / 5, 64, "large");
  rig.manager->retire(large.ref());
  std::vector<ObjectHandle> objects;
  for (std::size_t i = 0; i < objects_count; ++i)
    objects.push_back(rig.make(object_size, static_cast<char>(i)));
  rig.settle();

  std::mt19937_64 random{seed};
  int fitted = 0, refused = 0;
  // The pins are spread over a few objects, over those of half the tier, or over all.
  for (const std::size_t among : {std::size_t{3}, std::size_t{40}, objects_count / 2, objects_count}) {
    CAPTURE(among);
    std::vector<Operand> pins;
    for (int i = 0; i < 10'000; ++i) {
      pins.push_back(Operand::of(objects[random() % among].ref(), Use::Read));
      rig.manager->enter({&pins.back(), 1}, {1, true, {}});
    }
    std::uint64_t pinned = 0;
    for (const auto& object : objects)
      pinned += object.ref().object->block->pins() > 0 ? object_size.count : 0;
    try {
      const Entered scope{rig, large, Use::Overwrite, false};
      scope.fill('l');
      ++fitted;
    } catch (const OutOfTierMemory& error) {
      ++refused;
      const std::string message = error.what();
      CAPTURE(message);
      CHECK(message.find("no room for " + std::to_string(large.size_bytes().count)) != std::string::npos);
      CHECK(message.find(" free, largest run ") != std::string::npos);
      CHECK(message.find(std::to_string(pinned) + " pinned") != std::string::npos);
      CHECK(pinned > fast.count / 2);  // otherwise it would have fitted
    }
    for (const auto& op : pins) CHECK_MESSAGE(*op.address == std::byte(op.object - 2), op.object);
    Manager::leave(pins);
    rig.manager->retire(large.ref());
    rig.settle();
  }
  CHECK(fitted == 3);
  CHECK(refused == 1);
  for (std::size_t i = 0; i < objects_count; ++i) CHECK(rig.holds(objects[i], static_cast<char>(i)));
}

}  // namespace tier::termination_test
