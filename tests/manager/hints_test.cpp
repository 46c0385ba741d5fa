// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Hints: what they start, what they cost, and what happens to those that do not fit.
#include "rig.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace tier::hints_test {
namespace {

using namespace test;

/// Counts the hints that it receives.
class Counter final : public Observer {
 public:
  void on_hint(const HintEvent&) noexcept override { ++hints; }
  void on_kernel_end(const KernelEvent&) noexcept override { ++kernels; }
  int hints = 0, kernels = 0;
};

}  // namespace

TEST_CASE(
    "hints from destructors wait for the next call, and those that do not fit are dropped and counted") {
  Rig rig{1_MiB, 4_MiB, false};
  auto object = rig.make(64_KiB, 'a');
  Counter counter;
  rig.manager->add_observer(counter);
  for (int i = 0; i < 5000; ++i) rig.manager->hint_later(Hint::WillRead, object.ref(), 1);
  CHECK(counter.hints == 0);
  rig.manager->end_of_step();
  const auto dropped = rig.manager->statistics().hints_dropped;
  CHECK(dropped > 0);
  CHECK(static_cast<std::uint64_t>(counter.hints) + dropped == 5000);
  rig.manager->hint_later(Hint::WillRead, object.ref(), 1);
  rig.manager->end_of_step();
  CHECK(rig.manager->statistics().hints_dropped == dropped);
  rig.manager->remove_observer(counter);
  CHECK(rig.holds(object, 'a'));
}

TEST_CASE("a hint that was left behind for an object that is gone by then does nothing") {
  Rig rig{1_MiB, 4_MiB, false};
  auto object = rig.make(64_KiB, 'a'), other = rig.make(64_KiB, 'b');
  rig.manager->hint_later(Hint::Archive, object.ref(), 1);
  object.reset();
  rig.manager->end_of_step();
  CHECK(rig.holds(other, 'b'));
}

TEST_CASE("a free or retire from a destructor is never dropped, however many hints are") {
  Rig rig{1_MiB, 4_MiB, false};
  auto object = rig.make(64_KiB, 'a'), other = rig.make(64_KiB, 'b');
  for (int i = 0; i < 5000; ++i) rig.manager->hint_later(Hint::WillRead, other.ref(), 1);
  object.reset();
  CHECK(rig.used(0) == 64_KiB);
}

TEST_CASE("archiving lasts until the object is touched") {
  Rig rig{1_MiB, 4_MiB, false};
  auto object = rig.make(64_KiB, 'a');
  bool archived = false;
  rig.policy->on_choose = [&](const RoomRequest& request, std::span<const Run> runs, PolicyContext& context) {
    for (const auto& run : runs)
      for (const auto& block : run.blocks) archived |= block.archived;
    return rig.policy->Policy::choose(request, runs, context);
  };
  rig.manager->hint(Hint::Archive, object.ref(), 0);
  SUBCASE("not touched") {
    auto large = rig.manager->create(1_MiB, 64, "large");
    CHECK(archived);
  }
  SUBCASE("touched") {
    CHECK(rig.holds(object, 'a'));
    auto large = rig.manager->create(1_MiB, 64, "large");
    CHECK_FALSE(archived);
  }
}

TEST_CASE(
    "a prefetch returns before a byte has moved; where much leaves for it, another thread chooses what") {
  constexpr int many = 128;  // more evictions than the caller begins by itself
  Rig rig{4_MiB, 16_MiB, false};
  auto wanted = rig.make(2_MiB, 'w');
  REQUIRE(rig.evict(wanted) == Outcome::Done);
  rig.settle();
  std::vector<ObjectHandle> others;
  SUBCASE("into free room") {}
  SUBCASE("for which one of its size leaves") {
    for (int i = 0; i < 2; ++i) others.push_back(rig.make(2_MiB, 'o'));
  }
  SUBCASE("for which many small ones leave") {
    for (int i = 0; i < many; ++i) others.push_back(rig.make(4_MiB / many, 'o'));
  }
  const auto gate = std::make_shared<Gate>();
  for (auto* tier : rig.tiers)
    tier->fails = [gate](Direction, std::uint64_t, std::uint64_t) {
      gate->pass();
      return std::error_code{};
    };
  std::atomic<std::thread::id> chooser{};
  rig.policy->on_choose = [&](const RoomRequest& request, std::span<const Run> runs, PolicyContext& context) {
    chooser = std::this_thread::get_id();
    return rig.policy->Policy::choose(request, runs, context);
  };
  std::thread::id asker;
  auto prefetch = in_thread([&] {
    asker = std::this_thread::get_id();
    return rig.manager->prefetch(wanted.ref());
  });
  CHECK(ends(prefetch));
  gate->wait_for_arrival();
  CHECK(rig.manager->statistics().bytes_moved(1, 0) == 0);
  gate->open();
  CHECK(prefetch.get() == Outcome::Done);
  rig.manager->quiesce();
  CHECK((chooser.load() != std::thread::id{}) == !others.empty());
  if (others.size() == many) CHECK(chooser.load() != asker);
  rig.settle();
  CHECK(rig.where(wanted) == 0);
  CHECK(rig.holds(wanted, 'w'));
  for (const auto& one : others) CHECK(rig.holds(one, 'o'));
}

TEST_CASE("a prefetch does not wait while the system looks for the space that it takes") {
  const auto slow_to_reserve = [](MemoryTierOptions tier) {
    tier.reserves = true;
    return tier;
  };
  RigOptions options{{fast_tier(1_MiB), slow_tier(4_MiB, false)}};
  SUBCASE("in its own tier") { options.tiers[0] = slow_to_reserve(options.tiers[0]); }
  SUBCASE("in the tier below, for what leaves") { options.tiers[1] = slow_to_reserve(options.tiers[1]); }
  Rig rig{options};
  auto cold = rig.make(1_MiB, 'c');
  REQUIRE(rig.evict(cold) == Outcome::Done);
  rig.settle();
  auto hot = rig.make(1_MiB, 'h');
  if (options.tiers[0].reserves) hot.reset();
  const auto gate = std::make_shared<Gate>();
  for (auto* tier : rig.tiers)
    tier->reserve_fails = [gate](std::uint64_t, std::uint64_t) {
      gate->pass();
      return std::error_code{};
    };
  auto prefetch = in_thread([&] { return rig.manager->prefetch(cold.ref()); });
  CHECK(ends(prefetch));
  gate->wait_for_arrival();
  gate->open();
  CHECK(prefetch.get() == Outcome::Done);
  rig.settle();
  CHECK(rig.where(cold) == 0);
  CHECK(rig.holds(cold, 'c'));
}

TEST_CASE("a prefetch is refused, and waits for nothing, where there is no room") {
  Rig rig{1_MiB, 4_MiB, false};
  auto object = rig.make(512_KiB, 'a');
  rig.evict(object);
  rig.settle();
  auto large = rig.make(768_KiB, 'l');
  SUBCASE("because what is there is pinned") {
    const Entered scope{rig, large, Use::Read};
    CHECK(rig.manager->prefetch(object.ref()) == Outcome::Full);
  }
  SUBCASE("because the policy offers none: a prefetch is not forced") {
    rig.policy->on_choose = [](const RoomRequest&, std::span<const Run>, PolicyContext&) {
      return RunChoice{};
    };
    CHECK(rig.manager->prefetch(object.ref()) == Outcome::Full);
    CHECK(rig.manager->statistics().forced == 0);
  }
  CHECK(rig.manager->statistics().prefetches_refused == 1);
  CHECK(rig.manager->statistics().prefetches_begun == 0);
  rig.settle();
  CHECK(rig.holds(object, 'a'));
  CHECK(rig.holds(large, 'l'));
}

TEST_CASE("what becomes of a hint is counted, and why it has started nothing") {
  Rig rig{1_MiB, 4_MiB, true};
  auto object = rig.make(512_KiB, 'a');
  const auto fetch = [](PolicyContext& context, BlockId block) { context.fetch(block, 0, false); };
  const auto counts = [&](auto&& action) {
    rig.policy->action = action;
    const auto before = rig.manager->statistics().hints;
    rig.manager->hint(Hint::WillRead, object.ref(), 0);
    rig.policy->action = nullptr;
    const auto after = rig.manager->statistics().hints;
    return std::array{after.begun - before.begun, after.present - before.present, after.full - before.full,
                      after.busy - before.busy, after.passed_over - before.passed_over};
  };
  using Counts = std::array<std::uint64_t, 5>;
  const auto nothing = [](PolicyContext&, BlockId) {};
  CHECK(counts(fetch) == Counts{0, 1, 0, 0, 0});  // already in the fast tier
  rig.evict(object);
  rig.settle();
  CHECK(counts(nothing) == Counts{0, 0, 0, 0, 1});
  CHECK(counts([&](PolicyContext& context, BlockId block) { context.fetch(block + 1, 0, false); }) ==
        Counts{0, 0, 0, 0, 1});  // another block
  {
    auto large = rig.make(768_KiB, 'l');
    CHECK(counts(fetch) == Counts{0, 0, 1, 0, 0});
  }
  {
    rig.policy->miss = {no_tier, false};
    const Entered scope{rig, object, Use::Read};
    CHECK(rig.where(object) == 1);
    CHECK(counts(fetch) == Counts{0, 0, 0, 1, 0});
  }
  CHECK(counts(fetch) == Counts{1, 0, 0, 0, 0});
  rig.settle();
  rig.manager->hint(Hint::Archive, object.ref(), 0);  // asks for nothing
  const auto all = rig.manager->statistics();
  const auto& hints = all.hints;  // the rig gives some of its own
  CHECK(hints.full == 1);
  CHECK(all.to_text().find("hints: no room              1\n") != std::string::npos);
  CHECK(all.to_text().find("hints: not followed         " + std::to_string(hints.passed_over) + "\n") !=
        std::string::npos);
  CHECK(all.to_json().find(
            "\"hints\": {\n    \"begun\": 1,\n    \"present\": " + std::to_string(hints.present) +
            ",\n    \"full\": 1,\n    \"busy\": 1,\n    \"passed_over\": " +
            std::to_string(hints.passed_over) + "\n  }") != std::string::npos);
}

TEST_CASE("a prefetch never pins") {
  Rig rig{1_MiB, 4_MiB, false};
  auto object = rig.make(512_KiB, 'a');
  rig.evict(object);
  rig.settle();
  REQUIRE(rig.manager->prefetch(object.ref()) == Outcome::Done);
  CHECK(object.ref().object->block->pins() == 0);
  rig.settle();
  CHECK(object.ref().object->block->pins() == 0);
  CHECK(rig.where(object) == 0);
  CHECK(rig.evict(object) == Outcome::Done);
}

TEST_CASE("what was prefetched is not the first to leave again") {
  constexpr Bytes size = 1_MiB;
  Rig rig{3 * size, 8 * size, false};
  std::vector<ObjectHandle> objects;
  for (char i = 0; i < 4; ++i) objects.push_back(rig.make(size, i));
  REQUIRE(rig.where(objects[0]) == 1);
  REQUIRE(rig.manager->prefetch(objects[0].ref()) == Outcome::Done);
  rig.settle();
  REQUIRE(rig.where(objects[0]) == 0);
  objects.push_back(rig.make(size, 4));
  CHECK(rig.where(objects[0]) == 0);
  CHECK(rig.where(objects[2]) == 1);
  rig.settle();
}

}  // namespace tier::hints_test
