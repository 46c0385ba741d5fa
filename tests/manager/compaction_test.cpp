// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Compaction: what it achieves, and events that may come while a block slides.
#include "rig.hpp"

#include <doctest/doctest.h>

#include <random>

namespace tier::compaction_test {
namespace {

using namespace test;

constexpr Bytes size = 1536_KiB;

/// A hole and an object behind it that compaction moves there, held up by a gate.
struct Sliding {
  Sliding() : rig{8_MiB, 16_MiB, false}, hole{rig.make(2_MiB, 'h')}, object{rig.make(size, 'a', "sliding")} {
    hole.reset();
    before = object.ref().object->block->address;
  }
  auto compact(Hold& hold) {
    auto thread = in_thread([&] { rig.manager->compact(); });
    hold.wait_for_arrival();
    return thread;
  }
  bool moved() const { return object.ref().object->block->address.load() != before; }
  std::uint64_t version() const { return object.ref().object->block->version.load(); }

  Rig rig;
  ObjectHandle hole, object;
  std::byte* before = nullptr;
};

}  // namespace

TEST_CASE("compaction moves blocks together, whatever overlaps, and keeps their bytes") {
  Rig rig{8_MiB, 16_MiB, false};
  std::mt19937 random{7};
  std::vector<std::pair<ObjectHandle, char>> objects;
  for (char c = 0; c < 60; ++c) objects.emplace_back(rig.make(Bytes{4096 + random() % 100'000}, c), c);
  std::shuffle(objects.begin(), objects.end(), random);
  objects.erase(objects.begin() + 25, objects.end());
  rig.manager->compact();
  rig.settle();
  const auto fast = rig.manager->statistics().tiers[0];
  CHECK(fast.largest_free.count == fast.capacity.count - fast.used.count);
  for (auto& [object, value] : objects) CHECK(rig.holds(object, value));
}

TEST_CASE("compaction leaves pinned blocks where they are, and what they hold addresses of") {
  Rig rig{1_MiB, 4_MiB, false};
  std::vector<ObjectHandle> objects;
  for (char c = 0; c < 15; ++c) objects.push_back(rig.make(64_KiB, c));
  const Entered pinned{rig, objects[7], Use::Read};
  std::byte* address = pinned.address();
  for (std::size_t i = 0; i < 15; i += 2) objects[i].reset();
  rig.manager->compact();
  CHECK(objects[7].ref().object->block->address.load() == address);
  CHECK(pinned.all_are(7));
  for (std::size_t i = 1; i < 15; i += 2) CHECK(rig.holds(objects[i], static_cast<char>(i)));
  rig.manager->check_invariants();
}

TEST_CASE("a reader enters at once while its block slides, and keeps it where it is") {
  Sliding s;
  Hold hold{s.rig.fast(), Direction::Write};
  auto compaction = s.compact(hold);
  {
    const Entered scope{s.rig, s.object, Use::Read};
    CHECK(scope.address() == s.before);
    hold.open();
    compaction.get();
    CHECK_FALSE(s.moved());
    CHECK(scope.all_are('a'));
  }
  s.rig.settle();
  s.rig.manager->compact();
  CHECK(s.moved());
  CHECK(s.rig.holds(s.object, 'a'));
}

TEST_CASE("a writer waits for one chunk of a sliding block at most, and what it writes is not lost") {
  for (const Use use : {Use::Update, Use::Overwrite}) {
    Sliding s;
    Hold hold{s.rig.fast(), Direction::Write};
    auto compaction = s.compact(hold);
    const auto version = s.version();
    auto writer = in_thread([&] { s.rig.write(s.object, 'b', use); });
    until([&] { return s.version() > version; });
    hold.open();
    writer.get();
    compaction.get();
    s.rig.settle();
    CHECK(s.rig.holds(s.object, 'b'));
  }
}

TEST_CASE("what is retired or destroyed while it slides goes at the end of the copy") {
  Sliding s;
  Hold hold{s.rig.fast(), Direction::Write};
  auto compaction = s.compact(hold);
  SUBCASE("retired") { s.rig.manager->retire(s.object.ref()); }
  SUBCASE("destroyed") { s.object.reset(); }
  CHECK(s.rig.used(0) >= size);
  hold.open();
  compaction.get();
  s.rig.settle();
  CHECK(s.rig.used(0) == 0_B);
}

TEST_CASE("a prefetch of a sliding block is done already, and other moves of it are refused") {
  Sliding s;
  Hold hold{s.rig.fast(), Direction::Write};
  auto compaction = s.compact(hold);
  CHECK(s.rig.manager->prefetch(s.object.ref()) == Outcome::Done);
  CHECK(s.rig.evict(s.object) == Outcome::Pinned);
  CHECK(s.rig.clean(s.object) == Outcome::Pinned);
  hold.open();
  compaction.get();
  s.rig.settle();
  CHECK(s.rig.holds(s.object, 'a'));
}

TEST_CASE("the end of the runtime waits for a sliding block") {
  Sliding s;
  Hold hold{s.rig.fast(), Direction::Write};
  auto compaction = s.compact(hold);
  auto closer = in_thread([&] { return s.rig.manager->close().size(); });
  until([&] { return s.rig.manager->prefetch(s.object.ref()) == Outcome::Gone; });
  hold.open();
  compaction.get();
  CHECK(closer.get() == 1);
  CHECK(s.rig.holds(s.object, 'a'));
}

TEST_CASE("a block stays where it was if its new place cannot be written, and that is not used again") {
  Sliding s;
  std::atomic<bool> failed{false};
  s.rig.fast().fails = [&](Direction d, std::uint64_t, std::uint64_t) {
    return d == Direction::Write && !failed.exchange(true) ? std::make_error_code(std::errc::io_error)
                                                           : std::error_code{};
  };
  s.rig.manager->compact();
  s.rig.fast().fails = nullptr;
  s.rig.settle();
  CHECK(s.rig.holds(s.object, 'a'));
  CHECK(s.rig.manager->statistics().tiers[0].condemned == size);
}

}  // namespace tier::compaction_test
