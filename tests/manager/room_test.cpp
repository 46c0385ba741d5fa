// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Waiting for room: which scopes wait, for how long, and which never do.
#include "rig.hpp"
#include "support/child.hpp"

#include <doctest/doctest.h>

namespace tier::room_test {
namespace {

using namespace test;

/// Records the blocks for which room was asked since they were last retired. The manager's lock is held from then until the
/// scope waits.
class Arrivals final : public Observer {
 public:
  void on_allocation(const AllocationEvent& event) noexcept override {
    const MutexLock lock{mutex_};
    seen_.push_back(event.block);
  }
  void on_retire(const RetireEvent& event) noexcept override {
    const MutexLock lock{mutex_};
    std::erase(seen_, event.block);
  }
  void on_stall(const StallEvent&) noexcept override { ++stalls; }
  bool seen(const ObjectHandle& object) {
    const MutexLock lock{mutex_};
    return std::ranges::find(seen_, object.ref().object->block->id) != seen_.end();
  }
  std::atomic<int> stalls{0};

 private:
  Mutex mutex_;
  std::vector<BlockId> seen_ TIER_GUARDED_BY(mutex_);
};

struct Crowd {
  explicit Crowd(bool addressable, ManagerOptions options = {.threads = 1, .yields = false})
      : rig{RigOptions{{fast_tier(8_MiB), slow_tier(64_MiB, addressable)}, options}} {
    rig.manager->add_observer(arrivals);
  }
  ~Crowd() { rig.manager->remove_observer(arrivals); }
  /// An object without a place: its overwrite needs room and no fetch.
  ObjectHandle unplaced(Bytes size, std::string_view name = "object") {
    auto object = rig.manager->create(size, 64, name);
    rig.manager->retire(object.ref());
    return object;
  }
  /// Returns once a scope on the object stands in line or has entered.
  void wait_for_arrival(const ObjectHandle& object) {
    until([&] { return arrivals.seen(object); });
    std::ignore = rig.manager->statistics();  // takes the lock that the scope releases when it waits
  }
  static bool pinned(const ObjectHandle& object) { return object.ref().object->block->pins() > 0; }

  Arrivals arrivals;
  Rig rig;
};

std::string message_of(const std::function<void()>& action, std::error_code* cause = nullptr) {
  try {
    action();
  } catch (const OutOfTierMemory& error) {
    if (cause != nullptr) *cause = error.cause();
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

bool names(const std::string& text, Bytes size) {
  return contains(text, to_human(size)) || contains(text, std::to_string(size.count) + " bytes") ||
         contains(text, std::to_string(size.count) + " free") ||
         contains(text, std::to_string(size.count) + " pinned");
}

/// Two objects that fit a tier of 8 MiB only one at a time, to be overwritten in one batch.
struct Batch {
  explicit Batch(Rig& r) : rig{r} {
    for (auto* object : {&first, &second}) {
      *object = rig.manager->create(5_MiB, 64, "part");
      rig.manager->retire(object->ref());
    }
  }
  void enter() {
    std::vector<Operand> batch{Operand::of(first.ref(), Use::Overwrite),
                               Operand::of(second.ref(), Use::Overwrite)};
    rig.manager->enter(batch, {2, true, {}});
  }
  Rig& rig;
  ObjectHandle first, second;
};

/// Part of the message if a batch does not fit at once in any tier that can hold it.
constexpr std::string_view in_parts =
    "an object in use must fit in a tier that the CPU can address, and the largest of these, fast, is "
    "smaller: use parts of the object (tier::windowed), or give that tier more;";

}  // namespace

TEST_CASE("roots wait for room in order of arrival, even where a later one would fit at once") {
  Crowd crowd{false};
  auto holder = crowd.rig.make(6_MiB, 'h', "holder"), large = crowd.unplaced(5_MiB),
       small = crowd.unplaced(1_MiB);
  std::optional<Entered> held{std::in_place, crowd.rig, holder, Use::Read};
  auto first = in_thread([&] { crowd.rig.write(large, 'l'); });
  crowd.wait_for_arrival(large);
  auto second = in_thread([&] { crowd.rig.write(small, 's'); });
  crowd.wait_for_arrival(small);
  CHECK_FALSE(crowd.pinned(large));
  CHECK_FALSE(crowd.pinned(small));
  CHECK(crowd.rig.where(small) == no_tier);
  held.reset();
  first.get();
  second.get();
  CHECK(crowd.rig.holds(large, 'l'));
  CHECK(crowd.rig.holds(small, 's'));
  CHECK(crowd.arrivals.stalls >= 2);
  crowd.rig.settle();
}

TEST_CASE("a waiting root holds nothing, neither pins nor room, until all of its set fits") {
  Crowd crowd{false};
  auto holder = crowd.rig.make(4_MiB, 'h', "holder"), resident = crowd.rig.make(1_MiB, 'r', "resident");
  auto a = crowd.unplaced(2_MiB), b = crowd.unplaced(2_MiB), inner = crowd.unplaced(3_MiB);
  std::optional<Entered> held{std::in_place, crowd.rig, holder, Use::Read};
  auto root = in_thread([&] {
    std::vector<Operand> batch{Operand::of(resident.ref(), Use::Read), Operand::of(a.ref(), Use::Overwrite),
                               Operand::of(b.ref(), Use::Overwrite)};
    crowd.rig.manager->enter(batch, {2, true, {}});
    Manager::leave(batch);
  });
  crowd.wait_for_arrival(b);
  for (const auto* object : {&resident, &a, &b}) CHECK_FALSE(crowd.pinned(*object));
  const Entered nested{crowd.rig, inner, Use::Overwrite, false};  // takes free room meanwhile
  CHECK_FALSE(crowd.pinned(a));
  held.reset();
  root.get();
  CHECK(crowd.rig.holds(resident, 'r'));
}

TEST_CASE("no operand is evicted to make room for another of its batch") {
  Crowd crowd{false};
  auto d = crowd.unplaced(2_MiB);
  auto a = crowd.rig.make(3_MiB, 'a'), b = crowd.rig.make(3_MiB, 'b'), c = crowd.rig.make(2_MiB, 'c');
  std::vector<Operand> batch{Operand::of(d.ref(), Use::Overwrite), Operand::of(a.ref(), Use::Read),
                             Operand::of(b.ref(), Use::Read)};
  crowd.rig.manager->enter(batch, {2, true, {}});
  CHECK(Rig::all_are(batch[1], 'a'));
  CHECK(Rig::all_are(batch[2], 'b'));
  Manager::leave(batch);
  CHECK(crowd.rig.where(c) == 1);
  CHECK(crowd.rig.manager->statistics().bytes_moved(0, 1) == (2 << 20));
}

TEST_CASE("a root whose own operands are in each other's way gets room for all of them in one piece") {
  Crowd crowd{false};
  std::vector<ObjectHandle> parts;
  for (char i = 0; i < 8; ++i) parts.push_back(crowd.rig.make(1_MiB, i));
  auto large = crowd.unplaced(4_MiB);
  std::vector<Operand> batch{Operand::of(parts[2].ref(), Use::Read), Operand::of(parts[5].ref(), Use::Read),
                             Operand::of(large.ref(), Use::Overwrite)};  // the two leave no run of 4 MiB
  crowd.rig.manager->enter(batch, {2, true, {}});
  CHECK(Rig::all_are(batch[0], 2));
  CHECK(Rig::all_are(batch[1], 5));
  Manager::leave(batch);
  crowd.rig.settle();
}

TEST_CASE("a nested scope never waits for pins: where the CPU reaches its operand it stays") {
  Crowd crowd{true};
  auto holder = crowd.rig.make(6_MiB, 'h');
  auto cold = crowd.rig.make(2_MiB, 'c');
  crowd.rig.evict(cold);
  crowd.rig.settle();
  auto filler = crowd.rig.make(2_MiB, 'f');
  const Entered outer{crowd.rig, holder, Use::Read}, beside{crowd.rig, filler, Use::Read, false};
  for (const Use use : {Use::Read, Use::Update, Use::Overwrite}) {
    const Entered nested{crowd.rig, cold, use, false};
    CHECK(nested.address() >= crowd.rig.slow().base());
    CHECK(nested.address() < crowd.rig.slow().base() + crowd.rig.slow().capacity().count);
  }
  CHECK(crowd.rig.manager->statistics().in_place_operands == 3);
}

TEST_CASE("a nested overwrite of what is nowhere goes to a slower tier that the CPU reaches") {
  Crowd crowd{true};
  auto holder = crowd.rig.make(7_MiB, 'h');
  auto fresh = crowd.unplaced(2_MiB);
  const Entered outer{crowd.rig, holder, Use::Read};
  {
    const Entered nested{crowd.rig, fresh, Use::Overwrite, false};
    nested.fill('n');
  }
  CHECK(crowd.rig.where(fresh) == 1);
  CHECK(Entered{crowd.rig, fresh, Use::Read, false}.all_are('n'));
}

TEST_CASE("a nested scope throws at once where its operand is out of the CPU's reach") {
  Crowd crowd{false};
  auto holder = crowd.rig.make(6_MiB, 'h'), cold = crowd.rig.make(2_MiB, 'c', "cold");
  crowd.rig.evict(cold);
  crowd.rig.settle();
  auto filler = crowd.rig.make(2_MiB, 'f');
  Entered outer{crowd.rig, holder, Use::Read};
  {
    const Entered beside{crowd.rig, filler, Use::Read, false};
    std::vector<Operand> batch{Operand::of(holder.ref(), Use::Read), Operand::of(cold.ref(), Use::Read)};
    CHECK_THROWS_AS(crowd.rig.manager->enter(batch, {2, false, {}}), OutOfTierMemory);
    for (const auto& op : batch) CHECK_FALSE(op.entered);
    CHECK(holder.ref().object->block->pins() == 1);
  }
  outer.leave();
  CHECK(crowd.rig.holds(cold, 'c'));  // nothing has changed
  CHECK(crowd.rig.holds(holder, 'h'));
}

TEST_CASE("a prefetched object that nobody has pinned gives way before anyone waits") {
  Crowd crowd{false};
  auto holder = crowd.rig.make(4_MiB, 'h'), cold = crowd.rig.make(4_MiB, 'c');
  crowd.rig.evict(cold);
  crowd.rig.settle();
  const Entered outer{crowd.rig, holder, Use::Read};
  REQUIRE(crowd.rig.manager->prefetch(cold.ref()) == Outcome::Done);
  crowd.rig.manager->quiesce();
  REQUIRE(crowd.rig.where(cold) == 0);
  auto fresh = crowd.unplaced(4_MiB);
  const Entered nested{crowd.rig, fresh, Use::Overwrite, false};
  CHECK(crowd.rig.where(cold) == 1);
  CHECK(crowd.rig.manager->statistics().bytes_moved(0, 1) == (4 << 20));  // the prefetched copy was clean
}

TEST_CASE("a root larger than fast memory throws at once, or works where the data is if the CPU reaches it") {
  for (const bool addressable : {true, false}) {
    CAPTURE(addressable);
    Crowd crowd{addressable};
    auto holder = crowd.rig.make(1_MiB, 'h'), huge = crowd.rig.manager->create(9_MiB, 64, "huge");
    const Entered held{crowd.rig, holder, Use::Read};  // there is nothing to wait for
    if (addressable) {
      crowd.rig.write(huge, 'x');
      CHECK(crowd.rig.holds(huge, 'x'));
    } else {
      const auto message = message_of([&] { crowd.rig.write(huge, 'x'); });
      CHECK(contains(message, "no room for 9437184 bytes (huge)"));
      CHECK(contains(message, in_parts));
    }
  }
}

TEST_CASE(
    "a batch whose sum exceeds fast memory throws although each part fits, and the parts work one by one") {
  Crowd crowd{false};
  auto a = crowd.rig.make(5_MiB, 'a'), b = crowd.rig.make(5_MiB, 'b');
  std::vector<Operand> batch{Operand::of(a.ref(), Use::Read), Operand::of(b.ref(), Use::Read)};
  CHECK_THROWS_WITH_AS(
      crowd.rig.manager->enter(batch, {2, true, {}}),
      doctest::Contains("no room for 10485760 bytes (object and 1 more): fast: 8388608 bytes"),
      OutOfTierMemory);
  CHECK(crowd.rig.holds(a, 'a'));
  CHECK(crowd.rig.holds(b, 'b'));
  crowd.rig.settle();
}

TEST_CASE("what is placed for ever waits for a transfer that is about to free its room") {
  Rig rig{1_MiB, 4_MiB, true};
  auto object = rig.make(1_MiB, 'o');
  Hold hold{rig.slow(), Direction::Write};
  REQUIRE(rig.evict(object) == Outcome::Done);
  hold.wait_for_arrival();
  auto placed = in_thread([&] { return rig.manager->allocate_fixed(1_MiB, 64, 0, "placed"); });
  until([&] { return rig.manager->statistics().objects == 1 && rig.used(0) == 1_MiB; });
  hold.open();
  const auto storage = placed.get();
  CHECK(storage.address() != nullptr);
  CHECK_THROWS_AS(std::ignore = rig.manager->allocate_fixed(1_MiB, 64, 0, "more"), OutOfTierMemory);
}

TEST_CASE(
    "lack of room for a batch names the tier with what it has, what is free, the largest run and what is "
    "pinned") {
  Rig rig{RigOptions{{fast_tier(8_MiB)}}};
  auto holder = rig.make(1_MiB, 'h');
  Batch batch{rig};
  const Entered held{rig, holder, Use::Read};
  const auto message = message_of([&] { batch.enter(); });
  CAPTURE(message);
  for (const auto* part : {"fast: ", " free, largest run ", " pinned"}) CHECK(contains(message, part));
  CHECK(names(message, 8_MiB));
  CHECK(names(message, 7_MiB));  // free in one run
  CHECK(names(message, 1_MiB));
}

TEST_CASE("lack of room for a batch says how much all of it needs") {
  Rig rig{RigOptions{{fast_tier(8_MiB)}}};
  Batch batch{rig};
  CHECK(names(message_of([&] { batch.enter(); }), 10_MiB));
}

TEST_CASE("an object larger than every tier is refused when it is made") {
  Crowd crowd{false};
  const auto message = message_of([&] { std::ignore = crowd.rig.manager->create(65_MiB, 64, "giant"); });
  CHECK(contains(message, "no room for 68157440 bytes (giant)"));
  CHECK(contains(message, in_parts));
  CHECK(crowd.rig.manager->statistics().objects == 0);
  CHECK(crowd.rig.manager->statistics().blocks == 0);
}

TEST_CASE("lack of room names for each tier what it has, what is free, the largest run and what is pinned") {
  Crowd crowd{false};
  auto wanted = crowd.unplaced(4_MiB, "wanted");
  auto a = crowd.rig.make(3_MiB, 'a'), b = crowd.rig.make(2_MiB, 'b'), c = crowd.rig.make(1_MiB, 'c');
  const Entered first{crowd.rig, a, Use::Read}, second{crowd.rig, c, Use::Read, false};
  b.reset();
  std::error_code cause;
  const auto message = message_of([&] { Entered{crowd.rig, wanted, Use::Overwrite, false}; }, &cause);
  CHECK(contains(message, "no room for 4194304 bytes (wanted)"));
  CHECK_FALSE(contains(message, in_parts));
  CHECK(contains(message, "fast: 8388608 bytes, 4194304 free, largest run 2097152, 4194304 pinned"));
  CHECK(contains(message, "slow: 67108864 bytes, 67108864 free, largest run 67108864, 0 pinned"));
  CHECK_FALSE(cause);
}

TEST_CASE("lack of room has the error of the demotion that failed as its cause, and nothing is lost") {
  Crowd crowd{false};
  auto a = crowd.rig.make(4_MiB, 'a'), b = crowd.rig.make(4_MiB, 'b'), wanted = crowd.unplaced(4_MiB);
  crowd.rig.write(a, 'a');
  crowd.rig.write(b, 'b');
  crowd.rig.settle();
  std::error_code cause;
  std::string message;
  {
    const Failing failing{crowd.rig.slow(), Direction::Write};
    message = message_of([&] { crowd.rig.write(wanted, 'w'); }, &cause);
    crowd.rig.settle();
  }
  CHECK(cause == std::errc::io_error);
  CHECK(contains(message, "cause: Input/output error"));
  CHECK(crowd.rig.manager->statistics().tiers[1].condemned <= 16_MiB);  // it gave up soon
  CHECK(crowd.rig.holds(a, 'a'));
  CHECK(crowd.rig.holds(b, 'b'));
  crowd.rig.settle();
}

TEST_CASE("a full disk shows at allocation, with the disk's error as the cause") {
  Crowd crowd{false};
  auto a = crowd.rig.make(8_MiB, 'a');
  crowd.rig.slow().reserve_fails = [](std::uint64_t, std::uint64_t) {
    return std::make_error_code(std::errc::no_space_on_device);
  };
  std::error_code cause;
  const auto message =
      message_of([&] { std::ignore = crowd.rig.manager->create(1_MiB, 64, "next"); }, &cause);
  CHECK(contains(message, "no room for 1048576 bytes (next)"));
  CHECK(cause == std::errc::no_space_on_device);
  CHECK(crowd.rig.holds(a, 'a'));
  CHECK(crowd.rig.used(1) == 0_B);
  crowd.rig.slow().reserve_fails = nullptr;
  auto next = crowd.rig.make(1_MiB, 'n');
  CHECK(crowd.rig.holds(a, 'a'));
  crowd.rig.settle();
}

TEST_CASE("a root that has waited long says who holds the room") {
  const auto ended = run_in_child("long", [] {
    Crowd crowd{false, {.threads = 1, .yields = false, .report_waits_after = std::chrono::milliseconds{5}}};
    auto holder = crowd.rig.make(6_MiB, 'h', "the holder"), wanted = crowd.unplaced(5_MiB, "the wanted");
    std::optional<Entered> held{std::in_place, crowd.rig, holder, Use::Read};
    auto root = in_thread([&] { crowd.rig.write(wanted, 'w'); });
    until([&] { return crowd.arrivals.stalls >= 5; });  // it wakes every 5 ms to look, and reports
    held.reset();
    root.get();
  });
  CHECK(ended.code == 0);
  CHECK(contains(ended.errors, "waited long for 5242880 bytes (the wanted)"));
  CHECK(contains(ended.errors, "\"the holder\" (6291456 bytes, 1 pins)"));
}

TEST_CASE("a root that is never to say so waits until something changes") {
  Crowd crowd{false, {.threads = 1, .yields = false, .report_waits_after = std::chrono::milliseconds::max()}};
  auto holder = crowd.rig.make(6_MiB, 'h', "the holder"), wanted = crowd.unplaced(5_MiB, "the wanted");
  std::optional<Entered> held{std::in_place, crowd.rig, holder, Use::Read};
  auto root = in_thread([&] { crowd.rig.write(wanted, 'w'); });
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  CHECK(crowd.arrivals.stalls <= 10);  // each turn of a wait reports one
  held.reset();
  root.get();
}

}  // namespace tier::room_test
