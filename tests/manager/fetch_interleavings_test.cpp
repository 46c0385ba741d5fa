// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Events during a fetch, forced by a gate in the slow tier.
#include "held_fetch.hpp"

#include <doctest/doctest.h>

#include <thread>

namespace tier::fetch_interleavings_test {
namespace {

using namespace test;

}  // namespace

TEST_CASE("a reader joins a prefetch in flight, and nothing is fetched twice") {
  on_both_kinds_of_slow_tier([](Fetch& f, bool) {
    Hold hold{f.rig.slow(), Direction::Read};
    f.prefetch(hold);
    auto reader = f.reader();
    until([&] { return f.pins() == 1; });
    CHECK_FALSE(hold.is_open());
    hold.open();
    CHECK(reader.get());
    CHECK(f.rig.manager->statistics().bytes_moved(1, 0) == Fetch::size.count);
    CHECK(f.rig.manager->statistics().fetched_operands == 1);
    CHECK(f.rig.where(f.object) == 0);
  });
}

TEST_CASE("readers and an updater join the fetch of a scope, and the update is the newest version") {
  on_both_kinds_of_slow_tier([](Fetch& f, bool) {
    Hold hold{f.rig.slow(), Direction::Read};
    auto reader = in_thread([&] { Entered{f.rig, f.object, Use::Read}; });
    hold.wait_for_arrival();
    auto updater = in_thread([&] {
      Entered scope{f.rig, f.object, Use::Update};
      const bool fetched = scope.all_are('a');
      scope.fill('b');
      return fetched;
    });
    until([&] { return f.pins() == 2; });
    hold.open();
    reader.get();
    CHECK(updater.get());
    CHECK(f.rig.facts(f.object).dirty);
    REQUIRE(f.rig.evict(f.object) == Outcome::Done);
    f.rig.settle();
    CHECK(f.rig.holds(f.object, 'b'));
  });
}

TEST_CASE("an overwrite ends a fetch that others wait for: they are woken and read what was written") {
  on_both_kinds_of_slow_tier([](Fetch& f, bool addressable) {
    Hold hold{f.rig.slow(), Direction::Read};
    auto first = in_thread([&] { Entered{f.rig, f.object, Use::Read}; });  // carries out the fetch
    hold.wait_for_arrival();
    auto second = in_thread([&] { Entered{f.rig, f.object, Use::Read}; });  // waits for it
    until([&] { return f.pins() == 2; });
    const auto version = f.version();
    auto writer = in_thread([&] { f.rig.write(f.object, 'b'); });
    if (addressable)  // the writer waits for the chunk in flight
      until([&] { return f.version() > version; });
    else  // it does not wait for the device
      CHECK(ends(writer));
    if (!addressable) CHECK(ends(second));
    hold.open();
    writer.get();
    first.get();
    second.get();
    CHECK(f.rig.holds(f.object, 'b'));
    f.rig.settle();
    f.rig.evict(f.object);
    f.rig.settle();
    CHECK(f.rig.holds(f.object, 'b'));
  });
}

TEST_CASE("an overwrite of what is being prefetched does not wait for the device") {
  Fetch f{false};
  Hold hold{f.rig.slow(), Direction::Read};
  f.prefetch(hold);
  auto writer = in_thread([&] { f.rig.write(f.object, 'b'); });
  CHECK(ends(writer));
  CHECK_FALSE(hold.is_open());
  hold.open();
  writer.get();
  f.rig.settle();
  CHECK(f.rig.holds(f.object, 'b'));
  CHECK(f.rig.manager->statistics().transfers_cancelled == 1);
}

TEST_CASE("a fetch of what is retired meanwhile is not published, and who waits for it is told") {
  on_both_kinds_of_slow_tier([](Fetch& f, bool) {
    Hold hold{f.rig.slow(), Direction::Read};
    f.prefetch(hold);
    auto reader = f.reader();
    until([&] { return f.pins() == 1; });
    f.rig.manager->retire(f.object.ref());  // returns at once
    CHECK(f.rig.used(0) == round_up(Fetch::size.count, 64) * 1_B);
    hold.open();
    CHECK_THROWS_AS(reader.get(), TierError);
    f.rig.settle();
    CHECK(f.rig.used(0) == 0_B);
    CHECK(f.rig.used(1) == 0_B);
    f.rig.write(f.object, 'b');
    CHECK(f.rig.holds(f.object, 'b'));
  });
}

TEST_CASE("an object destroyed during its prefetch goes when the transfer has ended") {
  on_both_kinds_of_slow_tier([](Fetch& f, bool) {
    Hold hold{f.rig.slow(), Direction::Read};
    f.prefetch(hold);
    f.object.reset();
    CHECK(f.rig.used(0) == Fetch::size);
    CHECK(f.rig.used(1) == Fetch::size);
    hold.open();
    f.rig.settle();
    CHECK(f.rig.used(0) == 0_B);
    CHECK(f.rig.used(1) == 0_B);
    CHECK(f.rig.manager->statistics().blocks == 0);
  });
}

TEST_CASE("a scope that waits for the fetch of an object that is destroyed meanwhile throws") {
  on_both_kinds_of_slow_tier([](Fetch& f, bool) {
    Hold hold{f.rig.slow(), Direction::Read};
    f.prefetch(hold);
    Operand op = Operand::of(f.object.ref(), Use::Read);
    auto reader = in_thread([&] { f.rig.manager->enter({&op, 1}, {1, true, {}}); });
    until([&] { return f.pins() == 1; });
    f.object.reset();
    hold.open();
    CHECK_THROWS_AS(reader.get(), TierError);
    f.rig.settle();
    CHECK(f.rig.manager->statistics().blocks == 0);
  });
}

TEST_CASE("a second prefetch of what is being fetched is done already") {
  on_both_kinds_of_slow_tier([](Fetch& f, bool) {
    Hold hold{f.rig.slow(), Direction::Read};
    f.prefetch(hold);
    CHECK(f.rig.manager->prefetch(f.object.ref()) == Outcome::Done);
    CHECK(f.rig.act(f.object, [](PolicyContext& c, BlockId id) { return c.fetch(id, 0, true); }) ==
          Outcome::Done);
    CHECK(f.rig.evict(f.object) == Outcome::Done);  // it is still there
    CHECK(f.rig.clean(f.object) == Outcome::Pinned);
    hold.open();
    f.rig.settle();
    CHECK(f.rig.manager->statistics().prefetches_begun == 1);
    CHECK(f.rig.manager->statistics().bytes_moved(1, 0) == Fetch::size.count);
  });
}

TEST_CASE("prefetches that movers do not keep up with are refused") {
  constexpr Bytes size = 32_KiB;
  constexpr std::size_t fit = 128, cold = 600;
  Rig rig{fit * size, 2 * cold * size, false};
  std::vector<ObjectHandle> objects;
  for (std::size_t i = 0; i < cold + fit; ++i) objects.push_back(rig.make(size, static_cast<char>(i % 100)));
  rig.settle();
  auto gate = std::make_shared<Gate>();
  std::atomic<bool> first{true};
  rig.slow().fails = [&, gate](Direction, std::uint64_t, std::uint64_t) {
    if (first.exchange(false)) gate->pass();  // holds up the only mover
    return std::error_code{};
  };
  REQUIRE(rig.manager->prefetch(objects[0].ref()) == Outcome::Done);
  gate->wait_for_arrival();
  std::size_t refused = 0;
  for (std::size_t i = 1; i < cold; ++i) refused += rig.manager->prefetch(objects[i].ref()) == Outcome::Full;
  CHECK(refused > cold / 2);
  CHECK(refused < cold - 200);
  CHECK(rig.manager->statistics().prefetches_refused == refused);
  gate->open();
  rig.settle();
  REQUIRE(rig.manager->prefetch(objects[cold - 1].ref()) == Outcome::Done);
  rig.settle();
  CHECK(rig.where(objects[cold - 1]) == 0);
  for (std::size_t i = 0; i < objects.size(); ++i) CHECK(rig.holds(objects[i], static_cast<char>(i % 100)));
}

TEST_CASE("what a scope waits for overtakes the prefetches before it") {
  on_both_kinds_of_slow_tier([](Fetch& f, bool) {
    std::vector<ObjectHandle> others;
    for (char i = 0; i < 3; ++i) {
      others.push_back(f.rig.make(Fetch::size, i));
      REQUIRE(f.rig.evict(others.back()) == Outcome::Done);
      f.rig.manager->quiesce();
    }
    auto gate = std::make_shared<Gate>();
    std::atomic<bool> first{true};
    f.rig.slow().fails = [&, gate](Direction, std::uint64_t, std::uint64_t) {
      if (first.exchange(false)) gate->pass();  // holds up the only mover, but no other thread
      return std::error_code{};
    };
    REQUIRE(f.rig.manager->prefetch(others[0].ref()) == Outcome::Done);
    gate->wait_for_arrival();
    for (const auto& other : others) REQUIRE(f.rig.manager->prefetch(other.ref()) == Outcome::Done);
    REQUIRE(f.rig.manager->prefetch(f.object.ref()) == Outcome::Done);
    auto reader = f.reader();
    CHECK(ends(reader));
    CHECK_FALSE(gate->is_open());
    gate->open();
    CHECK(reader.get());
    f.rig.settle();
  });
}

TEST_CASE("whoever waits for a prefetch that the end of the runtime cancels fetches himself") {
  on_both_kinds_of_slow_tier([](Fetch& f, bool) {
    Hold hold{f.rig.slow(), Direction::Read};
    f.prefetch(hold);
    auto reader = f.reader();
    until([&] { return f.pins() == 1; });
    auto closer = in_thread([&] { return f.rig.manager->close(); });
    until([&] { return f.rig.manager->prefetch(f.object.ref()) == Outcome::Gone; });  // until it is closed
    hold.open();
    CHECK(reader.get());
    CHECK(closer.get() == std::vector<std::string>{"cold"});
    CHECK(f.rig.holds(f.object, 'a'));
  });
}

TEST_CASE("room that a prefetch holds is given up for a scope, and its object is whole where it was") {
  on_both_kinds_of_slow_tier([](Fetch& f, bool) {
    auto large = f.rig.manager->create(7_MiB, 64, "large");
    f.rig.manager->retire(large.ref());
    Hold hold{f.rig.slow(), Direction::Read};
    f.prefetch(hold);
    auto writer = in_thread([&] { f.rig.write(large, 'l'); });
    hold.open();
    writer.get();
    f.rig.settle();
    CHECK(f.rig.where(large) == 0);
    CHECK(f.rig.holds(large, 'l'));
    CHECK(f.rig.holds(f.object, 'a'));
  });
}

TEST_CASE("a prefetch that a scope waits for is no longer given up for others") {
  on_both_kinds_of_slow_tier([](Fetch& f, bool) {
    auto large = f.rig.manager->create(7_MiB, 64, "large");
    f.rig.manager->retire(large.ref());
    Hold hold{f.rig.slow(), Direction::Read};
    f.prefetch(hold);
    auto reader = f.reader();
    until([&] { return f.pins() == 1; });
    auto writer = in_thread([&] { f.rig.write(large, 'l'); });
    hold.open();
    CHECK(reader.get());
    writer.get();
    CHECK(f.rig.manager->statistics().transfers_cancelled == 0);
    CHECK(f.rig.holds(large, 'l'));
  });
}

TEST_CASE("a fetch that fails is tried once more by each scope that waits, and then throws with the name") {
  Fetch f{false};
  Hold hold{f.rig.slow(), Direction::Read, std::errc::io_error};
  auto use = [&](Use how) {
    try {
      Entered{f.rig, f.object, how};
    } catch (const TierError& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  auto reader = in_thread([&] { return use(Use::Read); });
  hold.wait_for_arrival();
  auto updater = in_thread([&] { return use(Use::Update); });
  until([&] { return f.pins() == 2; });
  hold.open();
  for (const auto& message : {reader.get(), updater.get()}) {
    CHECK(message.find("\"cold\"") != std::string::npos);
    CHECK(message.find("slow") != std::string::npos);
  }
  f.rig.settle();
  CHECK(f.rig.used(0) == 0_B);
  SUBCASE("a device that has recovered is believed") {
    f.rig.slow().fails = nullptr;
    CHECK(f.rig.holds(f.object, 'a'));
  }
  SUBCASE("what is overwritten is readable again") {
    f.rig.write(f.object, 'b');
    CHECK(f.rig.holds(f.object, 'b'));
  }
  SUBCASE("what is retired is gone, and its room with it") {
    f.rig.manager->retire(f.object.ref());
    CHECK(f.rig.used(1) == 0_B);
  }
  f.rig.slow().fails = nullptr;
  f.rig.settle();
}

TEST_CASE("a read that fails once is tried again, unseen by the scope") {
  Fetch f{false};
  std::atomic<int> reads{0};
  f.rig.slow().fails = [&](Direction d, std::uint64_t, std::uint64_t) {
    return d == Direction::Read && reads++ == 0 ? std::make_error_code(std::errc::io_error)
                                                : std::error_code{};
  };
  CHECK(f.rig.holds(f.object, 'a'));
  CHECK(reads > 1);
  f.rig.slow().fails = nullptr;
  f.rig.settle();
}

TEST_CASE("a prefetch that fails is told to the next scope that cannot read either") {
  Fetch f{false};
  {
    const Failing failing{f.rig.slow(), Direction::Read};
    REQUIRE(f.rig.manager->prefetch(f.object.ref()) == Outcome::Done);
    f.rig.manager->quiesce();
    CHECK_THROWS_AS(f.rig.holds(f.object, 'a'), TierError);
    f.rig.settle();
  }
  CHECK(f.rig.holds(f.object, 'a'));
}

TEST_CASE("an unreadable range of an addressable tier fails its block, and leaves the fast tier whole") {
  Fetch f{true};
  {
    const Failing failing{f.rig.slow(), Direction::Read};
    CHECK_THROWS_AS(f.rig.holds(f.object, 'a'), TierError);
    f.rig.settle();
  }
  CHECK(f.rig.manager->statistics().tiers[0].condemned == 0_B);
  f.rig.policy->miss = {no_tier, false};  // so that it is overwritten in place
  f.rig.write(f.object, 'b');
  CHECK(f.rig.holds(f.object, 'b'));
}

}  // namespace tier::fetch_interleavings_test
