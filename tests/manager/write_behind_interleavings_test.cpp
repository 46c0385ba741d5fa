// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Events while a block is demoted or written behind, forced by a gate.
#include "rig.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>

namespace tier::write_behind_interleavings_test {
namespace {

using namespace test;

constexpr Bytes size = 1536_KiB;  // three chunks of the CPU's copies, one of a device's

enum class What { Evict, Clean };

/// A dirty object in the fast tier, whose transfer to the slow tier is held up.
struct Outward {
  Outward(What kind, bool slow_addressable)
      : what{kind},
        addressable{slow_addressable},
        rig{8_MiB, 16_MiB, slow_addressable},
        object{rig.make(size, 'a', "hot")} {}
  void begin(Hold& hold) {
    REQUIRE((what == What::Evict ? rig.evict(object) : rig.clean(object)) == Outcome::Done);
    hold.wait_for_arrival();
  }
  std::uint64_t version() const { return object.ref().object->block->version.load(); }
  /// Waits until the writer has advanced as far as it can: it waits for a chunk of the CPU alone, not for a device.
  void let_go_of(std::future<void>& writer, Hold& hold, std::uint64_t version_before) {
    if (addressable)
      until([&] { return version() > version_before; });
    else
      CHECK(ends(writer));
    CHECK_FALSE(hold.is_open());
  }

  What what;
  bool addressable;
  Rig rig;
  ObjectHandle object;
};

template <class F>
void while_held_up(const F& test) {
  for (const What what : {What::Evict, What::Clean}) {
    for (const bool addressable : {true, false}) {
      CAPTURE(static_cast<int>(what));
      CAPTURE(addressable);
      Outward outward{what, addressable};
      {
        Hold hold{outward.rig.slow(), Direction::Write};
        outward.begin(hold);
        test(outward, hold);
      }
      outward.rig.settle();
    }
  }
}

}  // namespace

TEST_CASE("a reader enters at once while its object is demoted or copied") {
  while_held_up([](Outward& o, Hold& hold) {
    std::byte* before = o.object.ref().object->block->address;
    const Entered scope{o.rig, o.object, Use::Read};
    CHECK_FALSE(hold.is_open());
    CHECK(scope.address() == before);
    CHECK(scope.all_are('a'));
  });
}

TEST_CASE("what a reader has pinned at the end of its demotion stays, and is clean from then on") {
  while_held_up([](Outward& o, Hold& hold) {
    Entered scope{o.rig, o.object, Use::Read};
    hold.open();
    o.rig.settle();
    auto facts = o.rig.facts(o.object);
    CHECK(facts.tier == 0);
    CHECK_FALSE(facts.dirty);
    CHECK(facts.current_copies == 0b11);
    CHECK(scope.all_are('a'));
    scope.leave();
    REQUIRE(o.rig.evict(o.object) == Outcome::Done);  // without a copy
    CHECK(o.rig.where(o.object) == 1);
    CHECK(o.rig.manager->statistics().bytes_moved(0, 1) == size.count);
  });
}

TEST_CASE("a reader that has left by the end of a demotion does not keep it from being published") {
  Outward o{What::Evict, false};
  Hold hold{o.rig.slow(), Direction::Write};
  o.begin(hold);
  CHECK(o.rig.holds(o.object, 'a'));
  hold.open();
  o.rig.settle();
  CHECK(o.rig.where(o.object) == 1);
  CHECK(o.rig.used(0) == 0_B);
}

TEST_CASE("a writer never waits for the device, and what was under way is not published") {
  for (const Use use : {Use::Update, Use::Overwrite}) {
    CAPTURE(static_cast<int>(use));
    while_held_up([use](Outward& o, Hold& hold) {
      const auto version = o.version();
      auto writer = in_thread([&] { o.rig.write(o.object, 'b', use); });
      o.let_go_of(writer, hold, version);
      hold.open();
      writer.get();
      o.rig.settle();
      const auto facts = o.rig.facts(o.object);
      CHECK(facts.tier == 0);
      CHECK(facts.dirty);
      CHECK(facts.current_copies == 0b01);
      CHECK(o.rig.used(1) == 0_B);
      REQUIRE(o.rig.evict(o.object) == Outcome::Done);
      o.rig.settle();
      CHECK(o.rig.where(o.object) == 1);
      CHECK(o.rig.holds(o.object, 'b'));
    });
  }
}

TEST_CASE("a write inside a reading scope ends the copy behind it, too") {
  while_held_up([](Outward& o, Hold& hold) {
    const Entered outer{o.rig, o.object, Use::Read};
    const auto version = o.version();
    auto writer = in_thread([&] {
      const Entered inner{o.rig, o.object, Use::Update, false};
      inner.fill('b');
    });
    o.let_go_of(writer, hold, version);
    hold.open();
    writer.get();
    o.rig.manager->quiesce();
    CHECK(outer.all_are('b'));
    CHECK(o.rig.facts(o.object).dirty);
  });
}

TEST_CASE("of a chunked copy that a writer ends no further chunk begins") {
  Outward o{What::Clean, true};
  std::atomic<int> pieces{0};
  auto gate = std::make_shared<Gate>();
  o.rig.slow().fails = [&, gate](Direction d, std::uint64_t, std::uint64_t) {
    if (d == Direction::Write && pieces++ == 0) gate->pass();
    return std::error_code{};
  };
  REQUIRE(o.rig.clean(o.object) == Outcome::Done);
  gate->wait_for_arrival();
  const auto version = o.version();
  auto writer = in_thread([&] { o.rig.write(o.object, 'b'); });
  until([&] { return o.version() > version; });
  gate->open();
  writer.get();
  o.rig.settle();
  CHECK(pieces < 3);
  CHECK(o.rig.holds(o.object, 'b'));
}

TEST_CASE("what comes to fast memory while a writer waits for a chunk is used there, and fetched once") {
  for (const Use use : {Use::Read, Use::Overwrite}) {
    CAPTURE(static_cast<int>(use));
    Rig rig{{.tiers = {fast_tier(8_MiB), slow_tier(16_MiB, false)},
             .manager = {.threads = 1, .movers = 2, .yields = false}}};
    const auto comes = rig.make(size, 'c'), leaves = rig.make(size, 'l');
    REQUIRE(rig.evict(comes) == Outcome::Done);
    rig.settle();
    HoldFirst hold{rig.fast(), Direction::Read};
    REQUIRE(rig.evict(leaves) == Outcome::Done);
    hold.wait_for_arrival();
    const auto& version = leaves.ref().object->block->version;
    const auto before = version.load();
    auto writer = in_thread([&] {
      std::array batch{Operand::of(comes.ref(), use), Operand::of(leaves.ref(), Use::Update)};
      rig.manager->enter(batch, {1, true, {}});
      const bool is_there = use == Use::Overwrite || Rig::all_are(batch[0], 'c');
      if (use == Use::Overwrite) std::memset(batch[0].address, 'n', batch[0].size);
      Manager::leave(batch);
      return is_there;
    });
    until([&] { return version > before; });  // the first block has been examined
    rig.act(comes, [](PolicyContext& context, BlockId id) { return context.fetch(id, 0, true); });
    until([&] { return rig.where(comes) == 0; });
    CHECK_FALSE(hold.is_open());
    hold.open();
    CHECK(writer.get());
    rig.settle();
    CHECK(rig.used(0) == 2 * size);
    CHECK(rig.manager->statistics().bytes_moved(1, 0) == size.count);
    CHECK(rig.holds(comes, use == Use::Read ? 'c' : 'n'));
    CHECK(rig.holds(leaves, 'l'));
  }
}

TEST_CASE("what is retired during its demotion keeps its room until the transfer has ended") {
  while_held_up([](Outward& o, Hold& hold) {
    o.rig.manager->retire(o.object.ref());
    CHECK(o.rig.used(0) == size);
    CHECK(o.rig.used(1) == size);
    CHECK_THROWS_AS(o.rig.holds(o.object, 'a'), TierError);
    CHECK_FALSE(hold.is_open());
    hold.open();
    o.rig.settle();
    CHECK(o.rig.used(0) == 0_B);
    CHECK(o.rig.used(1) == 0_B);
    CHECK(o.rig.manager->statistics().evictions == 0);
  });
}

TEST_CASE("what is retired and written again during its demotion keeps what was written") {
  while_held_up([](Outward& o, Hold& hold) {
    o.rig.manager->retire(o.object.ref());
    auto writer = in_thread([&] { o.rig.write(o.object, 'b'); });
    if (!o.addressable) CHECK(ends(writer));
    hold.open();
    writer.get();
    o.rig.settle();
    CHECK(o.rig.holds(o.object, 'b'));
  });
}

TEST_CASE("a region that a device still reads is not given to anybody, whoever owned it") {
  for (const What what : {What::Evict, What::Clean}) {
    Outward o{what, false};
    Hold hold{o.rig.slow(), Direction::Write};
    o.begin(hold);
    o.rig.write(o.object, 'b');  // the block has given up the transfer,
    SUBCASE("retired") { o.rig.manager->retire(o.object.ref()); }
    SUBCASE("destroyed") { o.object.reset(); }
    CHECK(o.rig.used(0) == size);  // but the device has not
    auto other = o.rig.make(5_MiB, 'o');
    CHECK_FALSE(hold.is_open());
    hold.open();
    o.rig.settle();
    CHECK(o.rig.used(0) == 5_MiB);
    CHECK(o.rig.used(1) == 0_B);
    CHECK(o.rig.holds(other, 'o'));
  }
}

TEST_CASE("what is destroyed during its demotion goes when the transfer has ended") {
  while_held_up([](Outward& o, Hold& hold) {
    o.object.reset();
    CHECK(o.rig.used(0) == size);
    CHECK(o.rig.manager->statistics().objects == 0);
    hold.open();
    o.rig.settle();
    CHECK(o.rig.used(0) == 0_B);
    CHECK(o.rig.used(1) == 0_B);
    CHECK(o.rig.manager->statistics().blocks == 0);
  });
}

TEST_CASE("a prefetch of what is on its way out is done already, and other transfers of it are refused") {
  while_held_up([](Outward& o, Hold& hold) {
    CHECK(o.rig.manager->prefetch(o.object.ref()) == Outcome::Done);
    CHECK(o.rig.clean(o.object) == Outcome::Pinned);
    CHECK(o.rig.evict(o.object) == Outcome::Pinned);
    hold.open();
    o.rig.settle();
    CHECK(o.rig.manager->statistics().bytes_moved(0, 1) == size.count);
  });
}

TEST_CASE("a demotion that the end of the runtime cancels leaves the object where it was") {
  while_held_up([](Outward& o, Hold& hold) {
    auto closer = in_thread([&] { return o.rig.manager->close(); });
    until([&] { return o.rig.manager->prefetch(o.object.ref()) == Outcome::Gone; });  // until it is closed
    hold.open();
    CHECK(closer.get() == std::vector<std::string>{"hot"});
    CHECK(o.rig.manager->statistics().transfers_cancelled == 1);
    CHECK(o.rig.manager->statistics().bytes_moved(0, 1) == 0);
    CHECK(o.rig.holds(o.object, 'a'));
  });
}

TEST_CASE("a demotion that cannot be written leaves the primary, and its range is never used again") {
  for (const What what : {What::Evict, What::Clean}) {
    for (const bool written_meanwhile : {false, true}) {
      CAPTURE(static_cast<int>(what));
      CAPTURE(written_meanwhile);
      Outward o{what, false};
      std::uint64_t bad = 0;
      auto gate = std::make_shared<Gate>();
      o.rig.slow().fails = [&, gate](Direction d, std::uint64_t offset, std::uint64_t) {
        if (d != Direction::Write) return std::error_code{};
        gate->pass();
        bad = offset;
        return std::make_error_code(std::errc::io_error);
      };
      REQUIRE((what == What::Evict ? o.rig.evict(o.object) : o.rig.clean(o.object)) == Outcome::Done);
      gate->wait_for_arrival();
      if (written_meanwhile) o.rig.write(o.object, 'b');
      gate->open();
      o.rig.settle();
      const char expected = written_meanwhile ? 'b' : 'a';
      CHECK(o.rig.facts(o.object).dirty);
      CHECK(o.rig.holds(o.object, expected));
      CHECK(o.rig.manager->statistics().tiers[1].condemned == size);
      o.rig.slow().fails = [&](Direction, std::uint64_t offset, std::uint64_t length) {
        CHECK((offset >= bad + 512 || offset + length <= bad));
        return std::error_code{};
      };
      for (char i = 0; i < 9; ++i) {  // as many as the tier holds
        auto other = o.rig.make(size, i);
        o.rig.evict(other);
        o.rig.manager->quiesce();
        CHECK(o.rig.holds(other, i));
      }
      REQUIRE(o.rig.evict(o.object) == Outcome::Done);
      o.rig.settle();
      CHECK(o.rig.holds(o.object, expected));
      o.rig.slow().fails = nullptr;
    }
  }
}

TEST_CASE("a writer does not wait while room is made of its object, and the room is made of others") {
  Rig rig{8_MiB, 32_MiB, false};
  auto hot = rig.make(4_MiB, 'h', "hot"), other = rig.make(4_MiB, 'o', "other");
  auto wanted = rig.manager->create(4_MiB, 64, "wanted");  // makes room for itself
  rig.settle();
  rig.manager->retire(wanted.ref());
  CHECK(rig.holds(other, 'o'));
  CHECK(rig.holds(hot, 'h'));  // both are in fast memory; `other` is colder and clean, so write it
  rig.write(other, 'O');
  rig.write(hot, 'H');
  Hold hold{rig.slow(), Direction::Write};
  auto maker = in_thread([&] { rig.write(wanted, 'w'); });
  hold.wait_for_arrival();
  auto writer = in_thread([&] { rig.write(other, 'X'); });
  CHECK(ends(writer));
  CHECK_FALSE(hold.is_open());
  hold.open();
  maker.get();
  writer.get();
  rig.settle();
  CHECK(rig.holds(wanted, 'w'));
  CHECK(rig.holds(other, 'X'));
  CHECK(rig.holds(hot, 'H'));
}

}  // namespace tier::write_behind_interleavings_test
