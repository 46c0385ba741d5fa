// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The actions of a policy and their effect; what the manager does without a policy's help.
#include "rig.hpp"
#include "support/seed.hpp"

#include <doctest/doctest.h>
#include <array>
#include <random>
#include <vector>

namespace tier::policy_actions_test {
namespace {

using namespace test;

constexpr std::uint64_t size = 256 << 10;

struct Act {
  Act() : object{rig.make(Bytes{size}, 'a', "object")} {}
  Outcome on(const std::function<Outcome(PolicyContext&, BlockId)>& action) {
    return rig.act(object, action);
  }
  void to_slow() {
    REQUIRE(rig.evict(object) == Outcome::Done);
    rig.settle();
  }
  /// Fills the tier with storage that cannot move, until no more fits.
  std::vector<PlacedStorage> fill(TierIndex tier) {
    std::vector<PlacedStorage> placed;
    for (auto part = Bytes{size}; part.count >= 512; part.count /= 2) try {
        for (;;) placed.push_back(rig.manager->allocate_fixed(part, 512, tier, "placed"));
      } catch (const OutOfTierMemory&) {
      }
    return placed;
  }

  Rig rig{1_MiB, 4_MiB, false};
  ObjectHandle object;
};

}  // namespace

TEST_CASE("copy: done, done already, refused as pinned, gone or full") {
  Act a;
  const auto copy = [](TierIndex t) { return [t](PolicyContext& c, BlockId id) { return c.copy(id, t); }; };
  SUBCASE("done in the background, also under a pin, and then there already") {
    const Entered pinned{a.rig, a.object, Use::Read};
    CHECK(a.on(copy(1)) == Outcome::Pinned);
  }
  SUBCASE("done, and then there already") {
    CHECK(a.on(copy(1)) == Outcome::Done);
    a.rig.settle();
    CHECK(a.on(copy(1)) == Outcome::Done);
    CHECK(a.rig.manager->statistics().bytes_moved(0, 1) == size);
  }
  SUBCASE("to where its primary is, to a faster tier or to none: gone") {
    CHECK(a.on(copy(0)) == Outcome::Gone);
    CHECK(a.on(copy(7)) == Outcome::Gone);
  }
  SUBCASE("full") {
    const auto placed = a.fill(1);
    CHECK(a.on(copy(1)) == Outcome::Full);
  }
  SUBCASE("of an unknown block: gone") {
    CHECK(a.on([](PolicyContext& c, BlockId) { return c.copy(999, 1); }) == Outcome::Gone);
  }
  a.rig.settle();
  CHECK(a.rig.holds(a.object, 'a'));
}

TEST_CASE("fetch: done, done already, pinned, gone, full unless forced") {
  Act a;
  const auto fetch = [](bool force) {
    return [force](PolicyContext& c, BlockId id) { return c.fetch(id, 0, force); };
  };
  CHECK(a.on(fetch(false)) == Outcome::Done);  // it is already there
  a.to_slow();
  SUBCASE("done") {
    CHECK(a.on(fetch(false)) == Outcome::Done);
    a.rig.settle();
    CHECK(a.rig.where(a.object) == 0);
  }
  SUBCASE("full, and forced") {
    auto filler = a.rig.make(1_MiB, 'f');
    CHECK(a.on(fetch(false)) == Outcome::Full);
    CHECK(a.rig.where(a.object) == 1);
    CHECK(a.on(fetch(true)) == Outcome::Done);
    a.rig.settle();
    CHECK(a.rig.where(a.object) == 0);
    CHECK(a.rig.holds(filler, 'f'));
  }
  SUBCASE("full, though forced, if nothing can leave") {
    const auto placed = a.fill(0);  // leaves only the room of the object
    const auto in_use = a.rig.make(Bytes{size}, 'u');
    const Entered scope{a.rig, in_use, Use::Read};
    CHECK(a.on(fetch(true)) == Outcome::Full);
  }
  SUBCASE("gone: unknown, retired, or the runtime's end") {
    CHECK(a.on([](PolicyContext& c, BlockId) { return c.fetch(999, 0, true); }) == Outcome::Gone);
    a.rig.manager->retire(a.object.ref());
    CHECK(a.on(fetch(true)) == Outcome::Gone);
    a.rig.write(a.object, 'a');
  }
  a.rig.settle();
  CHECK(a.rig.holds(a.object, 'a'));
}

TEST_CASE("evict: done, done already, pinned, gone, full") {
  Act a;
  const auto evict = [](PolicyContext& c, BlockId id) { return c.evict(id, 1); };
  SUBCASE("pinned") {
    const Entered scope{a.rig, a.object, Use::Read};
    CHECK(a.on(evict) == Outcome::Pinned);
  }
  SUBCASE("done, and then there already") {
    a.to_slow();
    CHECK(a.on(evict) == Outcome::Done);
  }
  SUBCASE("full") {
    const auto placed = a.fill(1);
    CHECK(a.on(evict) == Outcome::Full);
    CHECK(a.rig.where(a.object) == 0);
  }
  SUBCASE("gone") {
    CHECK(a.on([](PolicyContext& c, BlockId) { return c.evict(999, 1); }) == Outcome::Gone);
    CHECK(a.on([](PolicyContext& c, BlockId id) { return c.evict(id, 9); }) == Outcome::Gone);
  }
  a.rig.settle();
  CHECK(a.rig.holds(a.object, 'a'));
}

TEST_CASE("make_primary and drop: only a current copy, never the primary, never under a pin") {
  Act a;
  const auto make = [](TierIndex t) {
    return [t](PolicyContext& c, BlockId id) { return c.make_primary(id, t); };
  };
  const auto drop = [](TierIndex t) { return [t](PolicyContext& c, BlockId id) { return c.drop(id, t); }; };
  CHECK(a.on(make(0)) == Outcome::Done);
  CHECK(a.on(make(1)) == Outcome::Gone);
  CHECK(a.on(drop(1)) == Outcome::Gone);
  CHECK(a.on(drop(0)) == Outcome::Pinned);
  a.rig.clean(a.object);
  a.rig.settle();
  {
    const Entered scope{a.rig, a.object, Use::Read};
    CHECK(a.on(make(1)) == Outcome::Pinned);
  }
  CHECK(a.on(make(1)) == Outcome::Done);
  CHECK(a.rig.facts(a.object).tier == 1);
  CHECK(a.on(make(0)) == Outcome::Done);
  a.rig.write(a.object, 'b');
  CHECK(a.on(make(1)) == Outcome::Gone);  // the copy is stale
  CHECK(a.on(drop(1)) == Outcome::Done);
  CHECK(a.rig.manager->statistics().copies_dropped == 1);
  CHECK(a.rig.used(1) == 0_B);
  CHECK(a.rig.holds(a.object, 'b'));
}

TEST_CASE("a policy that chooses nothing is overruled, and that is counted") {
  Act a;
  a.rig.policy->on_choose = [](const RoomRequest&, std::span<const Run>, PolicyContext&) {
    return RunChoice{};
  };
  auto large = a.rig.make(1_MiB, 'l');
  CHECK(a.rig.where(a.object) == 1);
  const auto statistics = a.rig.manager->statistics();
  CHECK(statistics.forced == 1);
  REQUIRE(statistics.moved.size() == 1);
  CHECK(statistics.moved[0].cause == Cause::Forced);
  CHECK(statistics.moved[0].bytes == a.object.size_bytes().count);
  CHECK(a.rig.holds(large, 'l'));
}

TEST_CASE("a policy may act on nothing while it chooses, and is shown what each run costs") {
  Act a;
  auto clean = a.rig.make(Bytes{2 * size}, 'c');
  a.rig.clean(clean);
  a.rig.settle();
  a.rig.holds(a.object, 'a');
  int asked = 0;
  a.rig.policy->on_choose = [&](const RoomRequest& request, std::span<const Run> runs,
                                PolicyContext& context) {
    ++asked;
    CHECK(request.tier == 0);
    CHECK(request.size.count == 2 * size);
    CHECK_FALSE(request.background);
    std::size_t best = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      std::uint64_t dirty = 0, live = 0;
      for (const auto& block : runs[i].blocks) {
        live += block.size.count;
        if (block.dirty) dirty += block.size.count;
        CHECK(context.evict(block.id, 1) == Outcome::Pinned);
        CHECK(context.drop(block.id, 1) == Outcome::Pinned);
      }
      CHECK(runs[i].evicted.count == live);
      CHECK(runs[i].write_back.count == dirty);
      if (runs[i].write_back < runs[best].write_back) best = i;
    }
    return RunChoice{best, {}};
  };
  auto next = a.rig.manager->create(Bytes{2 * size}, 64, "next");
  CHECK(asked == 1);
  CHECK(a.rig.where(clean) == 1);
  CHECK(a.rig.where(a.object) == 0);
  CHECK(a.rig.manager->statistics().forced == 0);
}

TEST_CASE("blocks leave in ascending order of rank, and a use in between is seen") {
  Rig rig{1_MiB, 4_MiB, false};
  std::vector<ObjectHandle> objects;
  for (char i = 0; i < 4; ++i) objects.push_back(rig.make(Bytes{size}, i));
  rig.holds(objects[0], 0);  // the short way: the manager is not told
  auto next = rig.manager->create(Bytes{size}, 64, "next");
  CHECK(rig.where(objects[0]) == 0);
  CHECK(rig.where(objects[1]) == 1);
}

TEST_CASE("the coldest block is found among any number that were used since") {
  Rig rig{8_MiB, 32_MiB, false};
  std::vector<ObjectHandle> objects;
  for (int i = 0; i < 2048; ++i) objects.push_back(rig.make(4_KiB, 'x'));
  for (std::size_t i = 0; i < objects.size(); ++i)
    if (i != 1234) CHECK(rig.holds(objects[i], 'x'));
  int asked = 0;
  rig.policy->on_choose = [&](const RoomRequest& request, std::span<const Run> runs, PolicyContext& context) {
    ++asked;
    return rig.policy->Policy::choose(request, runs, context);
  };
  auto next = rig.manager->create(4_KiB, 64, "next");
  CHECK(asked == 1);
  CHECK(rig.where(objects[1234]) == 1);
}

/// Measures the cost of 60 objects of up to `pages` pages, used at random in a tier that holds at most half of them.
struct Cost {
  Cost(std::uint64_t seed, bool takes_coldest, std::uint64_t pages) {
    struct Left : Observer {
      explicit Left(std::vector<BlockId>& b) : blocks{b} {}
      void on_migration(const MigrationEvent& event) noexcept override { blocks.push_back(event.block); }
      std::vector<BlockId>& blocks;
    } observer{left};
    Rig rig{RigOptions{.tiers = {fast_tier(Bytes{pages * 16 * 4096}), slow_tier(16_MiB, true)},
                       .manager = {.threads = 1, .movers = 0, .yields = false}}};  // no chance in timing
    std::mt19937_64 random{seed};
    rig.policy->takes_coldest = takes_coldest;
    rig.policy->on_choose = [&](const RoomRequest& request, std::span<const Run> runs, PolicyContext& c) {
      ++choices;
      proposed += runs.size();
      return rig.policy->Policy::choose(request, runs, c);
    };
    rig.manager->add_observer(observer);
    const auto any_size = [&] { return Bytes{4096 * (pages > 1 ? 1 + random() % pages : 1)}; };
    std::vector<ObjectHandle> objects;
    for (int i = 0; i < 60; ++i) objects.push_back(rig.make(any_size(), 'x'));
    for (int i = 0; i < 2000; ++i) {
      auto& object = objects[random() % objects.size()];
      if (random() % 8 == 0) object = rig.make(any_size(), 'x');
      if (random() % 2 == 0) rig.write(object, 'x', Use::Update);
      CHECK(rig.holds(object, 'x'));
    }
    for (const auto& moved : rig.manager->statistics().moved) bytes += moved.bytes;
    rig.manager->remove_observer(observer);
  }
  std::vector<BlockId> left;
  std::size_t choices = 0, proposed = 0;
  std::uint64_t bytes = 0;
};

TEST_CASE("what a policy prefers ends the proposals, and what leaves is the same") {
  const auto seed = test::seed();
  CAPTURE(seed);
  const Cost all{seed, false, 1}, preferred{seed, true, 1};
  CHECK(preferred.left == all.left);
  CHECK(preferred.left.size() > 1000);
  CHECK(preferred.choices > 500);
  CHECK(preferred.proposed == preferred.choices);
  CHECK(all.proposed == 8 * all.choices);
}

TEST_CASE("where blocks differ in size, fewer proposals cost no more moves to speak of") {
  const auto seed = test::seed();
  CAPTURE(seed);
  const Cost all{seed, false, 16}, preferred{seed, true, 16};
  CHECK(preferred.bytes < 1.1 * static_cast<double>(all.bytes));
  CHECK(4 * preferred.proposed < 3 * all.proposed);
}

TEST_CASE("placement: where the policy says, with or without room made, else the next tier that has some") {
  Rig rig{1_MiB, 4_MiB, false};
  rig.policy->placement = {0, false};
  auto a = rig.manager->create(Bytes{3 * size}, 64, "a"), b = rig.manager->create(Bytes{2 * size}, 64, "b");
  CHECK(rig.where(a) == 0);
  CHECK(rig.where(b) == 1);
  rig.policy->placement = {1, false};
  auto c = rig.manager->create(Bytes{size}, 64, "c");
  CHECK(rig.where(c) == 1);
  rig.policy->placement = {7, false};  // no such tier: ignored
  auto d = rig.manager->create(Bytes{size}, 64, "d");
  CHECK(rig.where(d) == 0);
}

TEST_CASE("in-place use is asked about each time, unless the policy says to remember") {
  for (const bool remember : {false, true}) {
    Rig rig{1_MiB, 4_MiB, true};
    auto object = rig.make(Bytes{size}, 'a');
    rig.evict(object);
    rig.settle();
    rig.policy->miss = {no_tier, remember};
    const auto before = rig.manager->statistics().misses;
    for (int i = 0; i < 5; ++i) CHECK(rig.holds(object, 'a'));
    CHECK(rig.where(object) == 1);
    CHECK(rig.manager->statistics().misses - before == (remember ? 1 : 5));
  }
}

TEST_CASE("with early freeing off, what is retired is garbage until a step mark") {
  Rig rig{1_MiB, 4_MiB, false};
  rig.policy->early = false;
  auto retired = rig.make(Bytes{size}, 'r'), destroyed = rig.make(Bytes{size}, 'd'),
       live = rig.make(Bytes{size}, 'l');
  rig.manager->retire(retired.ref());
  destroyed.reset();
  CHECK(rig.used(0).count == 3 * size);
  CHECK(rig.facts(retired).garbage);
  CHECK(rig.holds(retired, 'r'));  // not yet freed
  SUBCASE("written back if evicted") {
    auto large = rig.make(1_MiB, 'x');
    rig.settle();
    CHECK(rig.manager->statistics().bytes_moved(0, 1) == 3 * size);
    large.reset();
  }
  SUBCASE("still there") {}
  rig.manager->end_of_step();
  rig.settle();
  CHECK(rig.used(0).count + rig.used(1).count == size);
  CHECK(rig.holds(live, 'l'));
  rig.write(retired, 'n');
  CHECK(rig.holds(retired, 'n'));
}

TEST_CASE("with early freeing off, what is written again before the step mark is no garbage any more") {
  Rig rig{1_MiB, 4_MiB, false};
  rig.policy->early = false;
  auto object = rig.make(Bytes{size}, 'r');
  rig.manager->retire(object.ref());
  rig.write(object, 'n');
  rig.manager->end_of_step();
  CHECK(rig.holds(object, 'n'));
}

TEST_CASE("with early freeing off, garbage goes when the slowest tier is 80 % full") {
  Rig rig{1_MiB, 4_MiB, false};
  rig.policy->early = false;
  std::uint64_t most = 0;
  for (int i = 0; i < 100; ++i) {
    auto object = rig.make(Bytes{size}, static_cast<char>(i));  // garbage at once: no step is marked
    most = std::max(most, std::uint64_t{rig.used(1).count});
  }
  CHECK(most > (4 << 20) * 7 / 10);
  CHECK(most <= (4 << 20) * 85 / 100);
}

}  // namespace tier::policy_actions_test
