// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Background compaction: if a request lacked room in one piece, free room is brought together while nothing else
///        moves; all other work goes first.
#include "rig.hpp"
#include "support/eventually.hpp"
#include "support/windows.hpp"

#include <doctest/doctest.h>

namespace tier::background_compaction_test {
namespace {

using namespace test;

constexpr Bytes size = 1_MiB;  // two chunks of the CPU's copies

/// Fills fast memory with eight objects, destroys every other one, and asks for room of two in one piece.
struct Scattered {
  explicit Scattered(unsigned movers = 1, bool addressable = false)
      : rig{RigOptions{
            .tiers = {fast_tier(8 * size), slow_tier(32 * size, addressable)},
            .manager = {.threads = 1, .movers = movers, .yields = false, .window_blocks = 2_MiB}}} {
    for (char i = 0; i < 8; ++i) objects.push_back(rig.make(size, i));
    for (std::size_t i = 1; i < 8; i += 2) objects[i].reset();
    for (const auto& object : objects)
      before.push_back(object ? object.ref().object->block->address.load() : nullptr);
    rig.policy->placement = {0, false};  // takes free room alone
  }
  /// Asks for room that is free, but not in one piece.
  void lack() { asked.push_back(rig.manager->create(Bytes{2 * size.count}, 64, "asked")); }
  void lack(Hold& hold) {
    lack();
    hold.wait_for_arrival();
  }
  ObjectHandle& sliding() { return objects[0]; }
  bool moved(std::size_t i) const { return objects[i].ref().object->block->address.load() != before[i]; }
  bool moved() const { return moved(0); }
  std::uint64_t version() { return sliding().ref().object->block->version.load(); }
  std::uint64_t begun() const { return rig.manager->statistics().compactions_begun; }
  Bytes largest_free() const { return rig.manager->statistics().tiers[0].largest_free; }
  std::uint64_t bytes_slid() const {
    std::uint64_t sum = 0;
    for (const auto& m : rig.manager->statistics().moved)
      if (m.cause == Cause::Compact && m.from == m.to) sum += m.bytes;
    return sum;
  }
  void check_contents(std::size_t except = 8) {
    for (std::size_t i = 0; i < objects.size(); ++i)
      if (objects[i] && i != except) CHECK(rig.holds(objects[i], static_cast<char>(i)));
  }

  Rig rig;
  std::vector<ObjectHandle> objects, asked;
  std::vector<std::byte*> before;
};

}  // namespace

TEST_CASE("room that was lacked although as much was free is there once nothing moves any more") {
  Scattered s;
  CHECK(s.largest_free() == size);
  s.lack();
  s.rig.settle();
  CHECK(s.largest_free() == Bytes{2 * size.count});
  CHECK(s.begun() == 1);
  CHECK(s.bytes_slid() == size.count);
  CHECK(s.rig.manager->statistics().evictions == 0);
  s.check_contents();
  s.lack();
  CHECK(s.rig.where(s.asked[0]) == 1);
  CHECK(s.rig.where(s.asked[1]) == 0);
  s.rig.settle();
  CHECK(s.begun() == 1);  // the room was found, so nothing is begun again
}

TEST_CASE("bringing room together takes as many steps as it needs, and moves no more than that") {
  Rig rig{8_MiB, 32_MiB, false};
  std::vector<ObjectHandle> objects;
  for (char i = 0; i < 32; ++i) objects.push_back(rig.make(256_KiB, i));
  for (std::size_t i = 0; i < 32; i += 2) objects[i].reset();
  rig.policy->placement = {0, false};
  auto asked = rig.manager->create(2_MiB, 64, "asked");
  rig.settle();
  const auto statistics = rig.manager->statistics();
  CHECK(statistics.tiers[0].largest_free == 2_MiB);
  CHECK(statistics.compactions_begun == 4);
  CHECK(statistics.bytes_moved(0, 0) == (1_MiB).count);
  for (std::size_t i = 1; i < 32; i += 2) CHECK(rig.holds(objects[i], static_cast<char>(i)));
}

TEST_CASE("a tier of many blocks is looked at in parts, one for each wish") {
  Rig rig{8_MiB, 32_MiB, false};
  std::vector<ObjectHandle> objects;
  objects.reserve(512);
  for (int i = 0; i < 512; ++i) objects.push_back(rig.make(16_KiB, static_cast<char>(i)));
  for (std::size_t i = 400; i < 512; i += 2) objects[i].reset();
  rig.policy->placement = {0, false};
  const auto ask = [&] {
    const auto asked = rig.manager->create(64_KiB, 64, "asked");
    rig.settle();
    return rig.manager->statistics().tiers[0].largest_free;
  };
  CHECK(ask() == 16_KiB);  // only the first part was searched, which has no free room
  CHECK(ask() == 64_KiB);
  CHECK(rig.manager->statistics().compactions_begun == 2);
  for (std::size_t i = 401; i < 512; i += 2) CHECK(rig.holds(objects[i], static_cast<char>(i)));
}

TEST_CASE("blocks of windows do not move within a tier in the background, nor do others for them") {
  if (!has_windows()) return;
  SUBCASE("for them") {
    Scattered s;
    const auto window = s.rig.manager->create_window(Bytes{2 * size.count}, 64, "window");
    s.rig.settle();
    CHECK(s.begun() == 0);
  }
  SUBCASE("they") {
    Rig rig{8_MiB, 32_MiB, false};
    std::vector<ObjectHandle> windows;
    windows.reserve(16);
    for (int i = 0; i < 16; ++i) windows.push_back(rig.manager->create_window(512_KiB, 64, "window"));
    for (std::size_t i = 0; i < 16; i += 2) windows[i].reset();
    rig.policy->placement = {0, false};
    const auto asked = rig.manager->create(1_MiB, 64, "asked");
    rig.settle();
    CHECK(rig.where(asked) == 1);
    CHECK(rig.manager->statistics().tiers[0].used <= 4_MiB);
    CHECK(rig.manager->statistics().compactions_begun == 0);
  }
}

TEST_CASE("a scope that had to evict has room brought together for the next one of its size") {
  Scattered s;
  s.rig.policy->placement = {0, true};
  s.lack();
  s.rig.settle();
  CHECK(s.rig.manager->statistics().evictions > 0);
  CHECK(s.largest_free() == Bytes{2 * size.count});
  CHECK(s.begun() > 0);
  s.check_contents();
}

TEST_CASE("a prefetch that was refused has room brought together for the next one") {
  Scattered s;
  s.rig.policy->placement = {1, false};
  s.lack();
  s.rig.policy->on_choose = [](const RoomRequest&, std::span<const Run> runs, PolicyContext&) {
    return RunChoice{runs.size(), {}};  // no block may leave
  };
  CHECK(s.rig.manager->prefetch(s.asked[0].ref()) == Outcome::Full);
  s.rig.settle();
  CHECK(s.begun() == 1);
  CHECK(s.rig.manager->prefetch(s.asked[0].ref()) == Outcome::Done);
  s.rig.settle();
  CHECK(s.rig.where(s.asked[0]) == 0);
  CHECK(s.rig.manager->statistics().evictions == 0);
  s.check_contents();
}

TEST_CASE("where nobody lacks what is free, and without movers, nothing is brought together") {
  SUBCASE("without movers") {
    Scattered s{0};
    s.lack();
    s.rig.policy->placement = {0, true};
    s.lack();
    s.rig.settle();
    CHECK(s.begun() == 0);
    CHECK(s.bytes_slid() == 0);
  }
  SUBCASE("nobody asks") {
    Scattered s;
    s.rig.evict(s.objects[0]);
    s.rig.settle();
    CHECK(s.begun() == 0);
  }
  SUBCASE("as much is not free") {
    Scattered s;
    s.asked.push_back(s.rig.manager->create(Bytes{5 * size.count}, 64, "asked"));
    s.rig.settle();
    CHECK(s.begun() == 0);
  }
  SUBCASE("it has no other place") {
    Rig rig{8_MiB, 32_MiB, false};
    std::vector<ObjectHandle> objects;
    for (char i = 0; i < 8; ++i) objects.push_back(rig.make(i % 2 == 0 ? 1280_KiB : 768_KiB, i));
    for (std::size_t i = 1; i < 8; i += 2) objects[i].reset();
    rig.policy->placement = {0, false};
    auto asked = rig.manager->create(1_MiB, 64, "asked");
    rig.settle();
    CHECK(rig.manager->statistics().compactions_begun == 0);
  }
  SUBCASE("it is pinned") {
    Scattered s;
    const Entered a{s.rig, s.objects[0], Use::Read}, b{s.rig, s.objects[2], Use::Read},
        c{s.rig, s.objects[4], Use::Read}, d{s.rig, s.objects[6], Use::Read};
    s.lack();
    s.rig.settle();
    CHECK(s.begun() == 0);
  }
}

TEST_CASE("a reader enters at once while its object moves in the background, and keeps it where it is") {
  Scattered s;
  Hold hold{s.rig.fast(), Direction::Write};
  s.lack(hold);
  {
    const Entered scope{s.rig, s.sliding(), Use::Read};
    CHECK(scope.address() == s.before[0]);
    CHECK_FALSE(hold.is_open());
    hold.open();
    s.rig.settle();
    CHECK_FALSE(s.moved());
    CHECK(scope.all_are(0));
    CHECK(s.begun() == 1);  // a second try would fail again
  }
  s.lack();
  s.rig.settle();
  CHECK(s.largest_free() == Bytes{2 * size.count});
  s.check_contents();
}

TEST_CASE("a reader that has left by the end of a background move does not keep it from being published") {
  Scattered s;
  Hold hold{s.rig.fast(), Direction::Write};
  s.lack(hold);
  CHECK(s.rig.holds(s.sliding(), 0));
  hold.open();
  s.rig.settle();
  CHECK(s.moved());
  s.check_contents();
}

TEST_CASE("a writer ends a background move, and what it writes is not lost") {
  for (const Use use : {Use::Update, Use::Overwrite}) {
    Scattered s;
    Hold hold{s.rig.fast(), Direction::Write};
    s.lack(hold);
    const auto version = s.version();
    auto writer = in_thread([&] { s.rig.write(s.sliding(), 'b', use); });
    until([&] { return s.version() > version; });  // the writer waits for the chunk in flight
    hold.open();
    writer.get();
    s.rig.settle();
    CHECK_FALSE(s.moved());
    CHECK(s.rig.holds(s.sliding(), 'b'));
    CHECK(s.bytes_slid() == 0);
    s.check_contents(0);
  }
}

TEST_CASE("what is retired or destroyed while it moves in the background goes at the end of the copy") {
  Scattered s;
  Hold hold{s.rig.fast(), Direction::Write};
  s.lack(hold);
  SUBCASE("retired") { s.rig.manager->retire(s.sliding().ref()); }
  SUBCASE("destroyed") { s.sliding().reset(); }
  CHECK(s.rig.used(0) == Bytes{5 * size.count});  // and its new place
  hold.open();
  s.rig.settle();
  CHECK(s.rig.used(0) == Bytes{3 * size.count});
  CHECK(s.bytes_slid() == 0);
  s.check_contents(0);
}

TEST_CASE("other moves of what moves in the background are refused, and a prefetch of it is done already") {
  Scattered s;
  Hold hold{s.rig.fast(), Direction::Write};
  s.lack(hold);
  CHECK(s.rig.manager->prefetch(s.sliding().ref()) == Outcome::Done);
  CHECK(s.rig.evict(s.sliding()) == Outcome::Pinned);
  CHECK(s.rig.clean(s.sliding()) == Outcome::Pinned);
  hold.open();
  s.rig.settle();
  CHECK(s.moved());
}

namespace {

/// Fills slow memory with eight objects, and destroys every other one; room for two is then brought together there.
struct ScatteredBelow {
  ScatteredBelow() {
    rig.policy->placement = {1, false};
    for (char i = 0; i < 8; ++i) objects.push_back(rig.make(size, i));
    rig.settle();
    for (std::size_t i = 0; i < 8; ++i) {
      std::ignore = rig.evict(objects[i]);
      rig.settle();
      REQUIRE(rig.where(objects[i]) == 1);
    }
    for (std::size_t i = 1; i < 8; i += 2) objects[i].reset();
  }
  /// Returns when the first block is on its way.
  void lack(Hold& hold) {
    asked = rig.manager->create(Bytes{2 * size.count}, 64, "asked");
    hold.wait_for_arrival();
    REQUIRE(rig.manager->statistics().compactions_begun == 1);
  }

  Rig rig{RigOptions{.tiers = {fast_tier(8 * size), slow_tier(8 * size, true)},
                     .manager = {.threads = 1, .yields = false}}};
  std::vector<ObjectHandle> objects;
  ObjectHandle asked;
};

}  // namespace

TEST_CASE("a prefetch ends the background move of its object in a slow tier, and brings it") {
  ScatteredBelow s;
  Hold hold{s.rig.slow(), Direction::Write};
  s.lack(hold);
  CHECK(s.rig.manager->prefetch(s.objects[0].ref()) == Outcome::Done);
  hold.open();
  s.rig.settle();
  CHECK(s.rig.where(s.objects[0]) == 0);
  CHECK(s.rig.manager->statistics().transfers_cancelled >= 1);
  for (std::size_t i = 0; i < 8; i += 2) CHECK(s.rig.holds(s.objects[i], static_cast<char>(i)));
}

TEST_CASE("what ends while it moves in the background goes, although a policy still asks for it") {
  ScatteredBelow s;
  Hold hold{s.rig.slow(), Direction::Write};
  s.lack(hold);
  const auto id = s.objects[0].ref().object->block->id;
  SUBCASE("retired") { s.rig.manager->retire(s.objects[0].ref()); }
  SUBCASE("destroyed") { s.objects[0].reset(); }
  const auto fetch = [&](PolicyContext& context, BlockId) { return context.fetch(id, 0, false); };
  CHECK(s.rig.act(s.objects[2], fetch) == Outcome::Pinned);
  hold.open();
  s.rig.settle();
  CHECK(s.rig.used(1) == Bytes{3 * size.count});
  s.objects.clear();
  s.asked.reset();
  CHECK(s.rig.manager->statistics().blocks == 0);
}

TEST_CASE("a fetch overtakes a move in the background after the chunk in flight") {
  Scattered s;
  REQUIRE(s.rig.evict(s.objects[6]) == Outcome::Done);
  s.rig.settle();
  const auto gate = std::make_shared<test::Gate>();
  std::vector<std::uint64_t> written;  // by the only mover
  s.rig.fast().fails = [&, gate](Direction d, std::uint64_t offset, std::uint64_t) {
    if (d == Direction::Write) written.push_back(offset);
    if (d == Direction::Write && written.size() == 1) gate->pass();
    return std::error_code{};
  };
  s.asked.push_back(s.rig.manager->create(Bytes{4 * size.count}, 64, "asked"));
  gate->wait_for_arrival();
  CHECK(s.begun() == 1);
  REQUIRE(s.rig.manager->prefetch(s.objects[6].ref()) == Outcome::Done);
  gate->open();
  CHECK(eventually([&] { return s.rig.where(s.objects[6]) == 0; }));
  s.rig.settle();  // this thread helps to copy
  const auto rest = std::ranges::find(written, written[0] + (512_KiB).count);
  REQUIRE(written.size() >= 3);
  CHECK(written[1] != *rest);
  CHECK(rest != written.end());
  s.rig.fast().fails = nullptr;
  s.check_contents();
}

namespace {

/// Notes that a thread looks for a place. That thread holds the manager's lock until it has one, or waits for it.
struct LooksForPlace final : Observer {
  void on_allocation(const AllocationEvent&) noexcept override { told = true; }
  std::atomic<bool> told{false};
};

/// Runs `f` in another thread. Returns once `f` looks for a place; the lock is free again when it has one or waits.
template <class F>
auto looking_for_place(Rig& rig, F&& f) {
  LooksForPlace looks;
  rig.manager->add_observer(looks);
  auto thread = in_thread(std::forward<F>(f));
  until([&] { return looks.told.load(); });
  rig.manager->remove_observer(looks);
  return thread;
}

}  // namespace

TEST_CASE("whoever has use for the place that a background move has taken gets it, and evicts nothing") {
  for (const bool makes_room : {false, true}) {
    CAPTURE(makes_room);
    Scattered s;
    Hold hold{s.rig.fast(), Direction::Write};
    s.lack(hold);
    s.rig.policy->placement = {0, makes_room};
    for (int i = 0; i < 3; ++i) s.asked.push_back(s.rig.manager->create(size, 64, "in a hole"));
    CHECK_FALSE(hold.is_open());
    auto last = looking_for_place(s.rig, [&] { return s.rig.manager->create(size, 64, "last"); });
    hold.open();
    const auto object = last.get();
    s.rig.settle();
    const auto statistics = s.rig.manager->statistics();
    CHECK(statistics.evictions == 0);
    CHECK(statistics.transfers_cancelled == 1);
    CHECK(s.rig.where(object) == 0);
    CHECK_FALSE(s.moved());
    s.check_contents();
  }
}

TEST_CASE("what is overwritten after it was retired gets the place that a background move has taken") {
  Scattered s;
  Hold hold{s.rig.fast(), Direction::Write};
  s.lack(hold);
  s.rig.manager->retire(s.objects[6].ref());
  while (s.largest_free() >= size) s.asked.push_back(s.rig.manager->create(size, 64, "in a hole"));
  auto writer = looking_for_place(s.rig, [&] { s.rig.write(s.objects[6], 'w'); });
  hold.open();
  writer.get();
  s.rig.settle();
  CHECK(s.rig.where(s.objects[6]) == 0);
  CHECK(s.rig.holds(s.objects[6], 'w'));
  CHECK(s.rig.manager->statistics().evictions == 0);
  s.check_contents(6);
}

TEST_CASE("compaction by request ends a move in the background, and brings all together") {
  Scattered s;
  Hold hold{s.rig.fast(), Direction::Write};
  s.lack(hold);
  auto compaction = in_thread([&] { s.rig.manager->compact(); });
  hold.open();
  compaction.get();
  s.rig.settle();
  CHECK(s.largest_free() == Bytes{4 * size.count});
  s.check_contents();
}

TEST_CASE("the end of the runtime cancels a move in the background, and begins no other") {
  Scattered s;
  Hold hold{s.rig.fast(), Direction::Write};
  s.asked.push_back(s.rig.manager->create(Bytes{4 * size.count}, 64, "asked"));  // takes several moves
  hold.wait_for_arrival();
  auto closer = in_thread([&] { return s.rig.manager->close().size(); });
  until([&] { return s.rig.manager->prefetch(s.sliding().ref()) == Outcome::Gone; });
  hold.open();
  CHECK(closer.get() == 5);
  CHECK(s.begun() == 1);
  CHECK(s.rig.manager->statistics().transfers_cancelled == 1);
  s.check_contents();
}

TEST_CASE("a manager that goes waits for its move in the background") {
  auto s = std::make_unique<Scattered>();
  Hold hold{s->rig.fast(), Direction::Write};
  s->lack(hold);
  auto end = in_thread([&] { s.reset(); });
  hold.open();
  end.get();
}

TEST_CASE("a fork stops a move in the background between two chunks, and it goes on after it") {
  Scattered s;
  Hold hold{s.rig.fast(), Direction::Write};
  s.lack(hold);
  auto fork = in_thread([&] {
    s.rig.manager->before_fork();
    s.rig.manager->after_fork(false);
  });
  hold.open();
  fork.get();
  s.rig.settle();
  CHECK(s.moved());
  CHECK(s.largest_free() == Bytes{2 * size.count});
  s.check_contents();
}

TEST_CASE("where the new place cannot be written, the object stays and nothing is tried again") {
  Scattered s;
  {
    const Failing failing{s.rig.fast(), Direction::Write};
    s.lack();
    s.rig.settle();
  }
  CHECK(s.begun() == 1);
  CHECK(s.rig.manager->statistics().tiers[0].condemned == size);
  CHECK_FALSE(s.moved());
  s.check_contents();
}

}  // namespace tier::background_compaction_test
