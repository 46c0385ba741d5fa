// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/seed.hpp"

#include <tier/copy/copy_engine.hpp>
#include <tier/memory/tiers.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <vector>

namespace tier::virtual_clock_test {

namespace {

/// A clock on which a waiter copies a byte in 1 ns, and a mover in 2 ns.
class TestClock final : public VirtualClock {
 public:
  std::uint64_t copy_ns(const Tier&, const Tier&, std::uint64_t bytes,
                        Carrier carrier) const noexcept override {
    return carrier == Carrier::Waiter ? bytes : 2 * bytes;
  }
};

struct Copy final : CopyTask {
  Copy(VirtualClock& c, Tier& tier, std::uint64_t bytes) : clock{c} {
    from = {&tier, 0};
    to = {&tier, bytes};
    size = bytes;
  }
  void finished(std::error_code error, bool was_cancelled) noexcept override {
    CHECK(!error);
    cancelled = was_cancelled;
    ended = clock.now();
    if (then) then();
  }
  VirtualClock& clock;
  std::optional<std::uint64_t> ended;
  bool cancelled = false;
  std::function<void()> then;
};

constexpr std::uint64_t chunk = 4 << 20;

struct Rig {
  TestClock clock;
  std::unique_ptr<Tier> tier = make_tier(tiers::simulated("cxl", 1_GiB));
  CopyEngine engine{{.clock = &clock}};
  std::unique_ptr<Copy> copy(std::uint64_t bytes) { return std::make_unique<Copy>(clock, *tier, bytes); }
  void run(Copy& one) {
    CopyTask* const tasks[] = {&one};
    engine.run(tasks);
  }
};

}  // namespace

TEST_CASE("in virtual time a waiter's copy takes what the clock says, and no longer") {
  Rig rig;
  auto a = rig.copy(1000), b = rig.copy(3 * chunk + 5);
  CopyTask* const both[] = {a.get(), b.get()};
  rig.engine.run(both);
  CHECK(a->ended == 1000);
  CHECK(b->ended == 1000 + 3 * chunk + 5);
  CHECK(rig.clock.now() == 1000 + 3 * chunk + 5);
  CHECK(!rig.engine.wait_for_mover());
}

TEST_CASE("in virtual time the mover works while the program computes") {
  Rig rig;
  auto a = rig.copy(chunk), b = rig.copy(chunk);
  rig.engine.submit(*a, Priority::Prefetch);
  rig.engine.submit(*b, Priority::Prefetch);
  CHECK(rig.clock.now() == 0);
  CHECK(rig.engine.pass(chunk) == chunk);
  CHECK(!a->ended);
  CHECK(rig.engine.pass(3 * chunk) == 2 * chunk);
  CHECK(a->ended == 2 * chunk);
  CHECK(!b->ended);
  CHECK(rig.engine.pass(10 * chunk) == chunk);
  CHECK(b->ended == 4 * chunk);
  CHECK(rig.clock.now() == 10 * chunk);
  CHECK(rig.engine.counters().background_bytes == 2 * chunk);
}

TEST_CASE(
    "in virtual time what somebody waits for overtakes, and the chunk under way is held up for as long") {
  Rig rig;
  auto background = rig.copy(4 * chunk), awaited = rig.copy(chunk);
  rig.engine.submit(*background, Priority::Idle);
  rig.engine.pass(3 * chunk);  // its second chunk is half done
  rig.run(*awaited);
  CHECK(awaited->ended == 4 * chunk);
  rig.engine.pass(100 * chunk);
  CHECK(background->ended == 9 * chunk);
}

TEST_CASE("in virtual time a waiter helps with what has been begun") {
  Rig rig;
  auto copy = rig.copy(4 * chunk);
  rig.engine.submit(*copy, Priority::Prefetch);
  rig.engine.pass(3 * chunk);
  rig.run(*copy);  // the waiter copies two chunks; the mover's held-up chunk ends one chunk's time later
  CHECK(copy->ended == 6 * chunk);
  CHECK(rig.clock.now() == 6 * chunk);
}

TEST_CASE("in virtual time a copy that is cancelled ends at once, or with its chunk") {
  Rig rig;
  auto under_way = rig.copy(4 * chunk), queued = rig.copy(chunk);
  rig.engine.submit(*under_way, Priority::Prefetch);
  rig.engine.submit(*queued, Priority::Prefetch);
  rig.engine.pass(chunk);
  rig.engine.cancel(*under_way);
  rig.engine.stop(*queued);
  rig.engine.pass(50 * chunk);
  CHECK(under_way->cancelled);
  CHECK(under_way->ended == 2 * chunk);
  CHECK(queued->cancelled);
  CHECK(queued->ended == 2 * chunk);
  CHECK(rig.engine.counters().cancelled == 2);
}

TEST_CASE("in virtual time whoever waits for the mover lets time pass until its next chunk") {
  Rig rig;
  auto first = rig.copy(chunk), second = rig.copy(100);
  first->then = [&] { rig.engine.submit(*second, Priority::Prefetch); };  // as a policy may
  rig.engine.submit(*first, Priority::Prefetch);
  CHECK(rig.engine.wait_for_mover());
  CHECK(first->ended == 2 * chunk);
  CHECK(!second->ended);
  CHECK(rig.engine.wait_for_mover());
  CHECK(second->ended == 2 * chunk + 200);
  CHECK(!rig.engine.wait_for_mover());
}

TEST_CASE(
    "in virtual time background copies end in order of priority, one after the other, whatever the program "
    "does") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 50; ++round) {
    Rig rig;
    std::vector<std::unique_ptr<Copy>> copies;
    std::vector<std::pair<int, Copy*>> queued;
    for (int i = 0; i < 12; ++i) {
      copies.push_back(rig.copy(1 + random() % chunk));  // one chunk each: all later tasks wait for it
      const int priority = static_cast<int>(random() % 3);
      queued.emplace_back(-priority, copies.back().get());
      rig.engine.submit(*copies.back(), static_cast<Priority>(priority));
    }
    std::ranges::stable_sort(queued, {}, [](const auto& q) { return q.first; });
    std::uint64_t busy = 0, sum = 0;
    for (const auto& copy : copies) sum += 2 * copy->size;
    while (rig.clock.now() < sum) {
      const auto step = 1 + random() % (2 * chunk);
      const auto before = rig.clock.now();
      const auto worked = rig.engine.pass(before + step);
      CHECK(worked == std::min(step, sum - before));
      busy += worked;
    }
    CHECK(busy == sum);
    std::uint64_t time = 0;
    for (const auto& [priority, copy] : queued) {
      time += 2 * copy->size;
      CHECK(copy->ended == time);
    }
  }
}

}  // namespace tier::virtual_clock_test
