// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Events during the move of a block between two tiers that the CPU cannot address, while a scope waits for it.
#include "rig.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>

namespace tier::device_moves_test {
namespace {

using namespace test;

constexpr Bytes size = 256_KiB;
const auto io_error = std::make_error_code(std::errc::io_error);

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// An object that moves from one device to another while a scope waits for it.
template <class Holding = HoldFirst>
struct Moving {
  template <class... Error>
  explicit Moving(std::size_t held_tier, Direction direction, Error... error)
      : rig{RigOptions{{fast_tier(1_MiB), slow_tier(2_MiB, false), slowest_tier(8_MiB, false)},
                       {.threads = 1, .yields = false}}},
        object{rig.make(size, 'a', "moving")},
        beside{rig.make(size, 's', "beside")} {
    REQUIRE(rig.evict(object, 1) == Outcome::Done);
    rig.settle();
    hold.emplace(*rig.tiers[held_tier], direction, error...);
    REQUIRE(rig.evict(object, 2) == Outcome::Done);
    hold->wait_for_arrival();
  }
  /// Opens a scope on it and on `beside`, whose pin shows that it is about to enter. \return  why it could not be entered
  std::future<std::string> scope(Use use = Use::Read) {
    auto entered = in_thread([this, use]() -> std::string {
      std::vector<Operand> batch{Operand::of(beside.ref(), Use::Read), Operand::of(object.ref(), use)};
      try {
        rig.manager->enter(batch, {2, true, {}});
      } catch (const TierError& error) {
        return error.what();
      }
      Manager::leave(batch);
      return {};
    });
    until([&] { return beside.ref().object->block->pins() > 0; });
    std::ignore = rig.manager->statistics();  // takes the lock, which the scope releases when it waits
    return entered;
  }
  void let_end() {
    hold->open();
    rig.settle();
    for (auto* tier : rig.tiers) tier->fails = nullptr;
  }
  void nothing_is_left() {
    rig.settle();
    CHECK(rig.used(0) == size);  // `beside`
    CHECK(rig.used(1) == 0_B);
    CHECK(rig.used(2) == 0_B);
    CHECK(rig.holds(beside, 's'));
  }

  Rig rig;
  ObjectHandle object, beside;
  std::optional<Holding> hold;
};

template <class F>
void while_a_scope_waits(const F& test) {
  for (const bool reads_still : {true, false}) {
    for (const Use use : {Use::Read, Use::Update}) {
      CAPTURE(reads_still);
      CAPTURE(static_cast<int>(use));
      Moving<> m{reads_still ? 1U : 2U, reads_still ? Direction::Read : Direction::Write};
      auto scope = m.scope(use);
      test(m, scope);
      m.let_end();
    }
  }
}

}  // namespace

TEST_CASE("a scope waits for a move between two devices, and reads what was there") {
  while_a_scope_waits([](auto& m, auto& scope) {
    CHECK_FALSE(m.hold->is_open());
    m.hold->open();
    CHECK(scope.get() == "");
    CHECK(m.rig.holds(m.object, 'a'));
  });
}

TEST_CASE("a failure of a move between two devices is seen by nobody if the next read succeeds") {
  for (const bool of_source : {true, false}) {
    CAPTURE(of_source);
    Moving<> m{of_source ? 1U : 2U, of_source ? Direction::Read : Direction::Write, io_error};
    auto scope = m.scope();
    m.hold->open();
    CHECK(scope.get() == "");
    m.let_end();
    CHECK(m.rig.holds(m.object, 'a'));
    CHECK(m.rig.used(2) == (of_source ? 0_B : size));  // a range that could not be written is condemned
    CHECK(m.rig.manager->statistics().tiers[2].condemned == m.rig.used(2));
  }
}

TEST_CASE(
    "the source of a move between two devices fails for good: who waits is told, and the bytes are kept") {
  Moving<Hold> m{1, Direction::Read, std::errc::io_error};
  auto scope = m.scope();
  m.hold->open();
  CHECK(contains(scope.get(), "reading \"moving\" from tier slow"));
  CHECK(m.rig.holds(m.beside, 's'));
  m.let_end();
  CHECK(m.rig.holds(m.object, 'a'));
}

TEST_CASE("what is retired while it moves between two devices goes with the move, and who waits is told") {
  while_a_scope_waits([](auto& m, auto& scope) {
    m.rig.manager->retire(m.object.ref());
    m.hold->open();
    CHECK(contains(scope.get(), "retired object: moving"));
    m.nothing_is_left();
    m.rig.write(m.object, 'w');
    CHECK(m.rig.holds(m.object, 'w'));
  });
}

TEST_CASE("what is destroyed while it moves between two devices goes with the move, and who waits is told") {
  while_a_scope_waits([](auto& m, auto& scope) {
    m.object.reset();
    m.hold->open();
    CHECK(contains(scope.get(), "destroyed"));
    m.nothing_is_left();
    CHECK(m.rig.manager->statistics().blocks == 1);
  });
}

TEST_CASE(
    "what is destroyed while it moves between two devices, and made again, is not what a scope waits for") {
  while_a_scope_waits([](auto& m, auto& scope) {
    m.object.reset();
    m.hold->open();
    m.rig.manager->quiesce();
    const auto next = m.rig.make(size, 'n', "next");  // may reuse the block
    CHECK(contains(scope.get(), "destroyed"));
    CHECK(m.rig.holds(next, 'n'));
  });
}

TEST_CASE("an overwrite of what moves between two devices lets a scope in that waits for it") {
  while_a_scope_waits([](auto& m, auto& scope) {
    auto writer = in_thread([&] { m.rig.write(m.object, 'b'); });
    CHECK(ends(writer));
    CHECK_FALSE(m.hold->is_open());
    m.hold->open();
    CHECK(scope.get() == "");
    m.rig.settle();
    CHECK(m.rig.holds(m.object, 'b'));
    CHECK(m.rig.used(2) == 0_B);
  });
}

TEST_CASE("an overwrite wakes who waits for a move between two devices, and nobody waits for them any more") {
  while_a_scope_waits([](auto& m, auto& scope) {
    m.rig.write(m.object, 'b');
    CHECK(ends(scope));
    CHECK_FALSE(m.hold->is_open());
    m.hold->open();
    CHECK(scope.get() == "");
  });
}

TEST_CASE("a failure of a move between two devices that an overwrite has ended is seen by nobody") {
  for (const bool of_source : {true, false}) {
    CAPTURE(of_source);
    Moving<Hold> m{of_source ? 1U : 2U, of_source ? Direction::Read : Direction::Write, std::errc::io_error};
    auto scope = m.scope();
    m.rig.write(m.object, 'b');
    m.hold->open();
    CHECK(scope.get() == "");
    m.let_end();
    CHECK(m.rig.holds(m.object, 'b'));
    CHECK(m.rig.manager->statistics().tiers[2].condemned == (of_source ? 0_B : size));
  }
}

TEST_CASE("a move between two devices fails whose object is retired: who waits is told of the second") {
  Moving<> m{1, Direction::Read, io_error};
  auto scope = m.scope();
  m.rig.manager->retire(m.object.ref());
  m.hold->open();
  CHECK(contains(scope.get(), "retired object: moving"));
  m.let_end();
  m.nothing_is_left();
}

TEST_CASE("the runtime ends while a scope waits for a move between two devices") {
  while_a_scope_waits([](auto& m, auto& scope) {
    auto closer = in_thread([&] { return m.rig.manager->close(); });
    until([&] { return m.rig.manager->prefetch(m.object.ref()) == Outcome::Gone; });  // until it is closed
    m.hold->open();
    CHECK(scope.get() == "");
    CHECK(closer.get().size() == 2);
    CHECK(m.rig.holds(m.object, 'a'));
  });
}

}  // namespace tier::device_moves_test
