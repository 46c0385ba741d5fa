// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Two events during a fetch that scopes wait for: it fails, it is cancelled, its object is retired, destroyed or
///        overwritten, or the runtime ends.
#include "held_fetch.hpp"

#include <string>

namespace tier::fetch_pairs_test {
namespace {

using namespace test;

const auto io_error = std::make_error_code(std::errc::io_error);

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Opens and closes a scope. \return  why it could not be entered, or nothing
std::future<std::string> scope_on(Fetch& f, Use use) {
  return in_thread([&f, use]() -> std::string {
    try {
      Entered{f.rig, f.object, use};
    } catch (const TierError& error) {
      return error.what();
    }
    return {};
  });
}

/// A fetch that a prefetch or a scope has begun, and two scopes that wait for it.
struct Waited {
  Waited(Fetch& f, HoldFirst& hold, bool prefetched) : fetch{f} {
    if (prefetched) f.prefetch(hold);
    first = scope_on(f, Use::Read);  // carries out the fetch, if no mover does
    hold.wait_for_arrival();
    second = scope_on(f, Use::Update);
    until([&] { return f.pins() == 2; });
  }
  std::vector<std::string> messages() { return {first.get(), second.get()}; }
  void all_are_told(std::string_view what) {
    for (const auto& message : messages()) {
      CAPTURE(message);
      CHECK(contains(message, what));
    }
  }
  void all_enter() {
    for (const auto& message : messages()) CHECK(message == "");
  }

  Fetch& fetch;
  std::future<std::string> first, second;
};

template <class F>
void while_scopes_wait(std::error_code error, const F& test) {
  for (const bool prefetched : {true, false}) {
    CAPTURE(prefetched);
    on_both_kinds_of_slow_tier([&](Fetch& f, bool addressable) {
      HoldFirst hold{f.rig.slow(), Direction::Read, error};
      Waited waited{f, hold, prefetched};
      test(f, hold, waited, addressable);
      f.rig.manager->quiesce();
    });
  }
}

/// Overwrites the object while its fetch is held up.
std::future<void> begin_overwrite(Fetch& f, bool addressable) {
  const auto version = f.version();
  auto writer = in_thread([&f] { f.rig.write(f.object, 'b'); });
  if (addressable)  // the writer waits for the chunk in flight
    until([&] { return f.version() > version; });
  else  // it does not wait for the device
    CHECK(ends(writer));
  return writer;
}

std::future<std::vector<std::string>> begin_close(Fetch& f) {
  auto closer = in_thread([&f] { return f.rig.manager->close(); });
  until([&] { return f.rig.manager->prefetch(f.object.ref()) == Outcome::Gone; });  // until it is closed
  return closer;
}

void nothing_is_left(Fetch& f) {
  f.rig.settle();
  CHECK(f.rig.used(0) == 0_B);
  CHECK(f.rig.used(1) == 0_B);
}

/// Checks that the object works as any other once it is written again, whatever happened to it.
void can_be_written_again(Fetch& f) {
  f.rig.write(f.object, 'w');
  CHECK(f.rig.holds(f.object, 'w'));
  f.rig.evict(f.object);
  f.rig.settle();
  CHECK(f.rig.holds(f.object, 'w'));
}

}  // namespace

TEST_CASE(
    "a fetch fails whose object is retired: its scopes are told that, and no mark of the failure is left") {
  while_scopes_wait(io_error, [](Fetch& f, HoldFirst& hold, Waited& scopes, bool) {
    f.rig.manager->retire(f.object.ref());
    hold.open();
    scopes.all_are_told("retired object: cold");
    nothing_is_left(f);
    can_be_written_again(f);
  });
}

TEST_CASE("a fetch has failed, and its object is retired while a scope tries once more") {
  Fetch f{false};
  auto first = std::make_shared<Gate>(), second = std::make_shared<Gate>();
  std::atomic<int> reads{0};
  f.rig.slow().fails = [&, first, second](Direction d, std::uint64_t, std::uint64_t) {
    if (d != Direction::Read) return std::error_code{};
    const bool retry = reads++ > 0;
    (retry ? second : first)->pass();
    return retry ? std::error_code{} : io_error;
  };
  f.prefetch();
  first->wait_for_arrival();
  auto scope = scope_on(f, Use::Read);
  until([&] { return f.pins() == 1; });
  first->open();
  second->wait_for_arrival();
  f.rig.manager->retire(f.object.ref());
  second->open();
  CHECK(contains(scope.get(), "retired object: cold"));
  nothing_is_left(f);
  can_be_written_again(f);
  f.rig.slow().fails = nullptr;
}

TEST_CASE("a fetch fails that an overwrite has ended: nobody is told, and what was written is there") {
  while_scopes_wait(io_error, [](Fetch& f, HoldFirst& hold, Waited& scopes, bool addressable) {
    auto writer = begin_overwrite(f, addressable);
    hold.open();
    writer.get();
    scopes.all_enter();
    f.rig.settle();
    CHECK(f.rig.holds(f.object, 'b'));
    CHECK(f.rig.manager->statistics().tiers[0].condemned == 0_B);
    can_be_written_again(f);
  });
}

TEST_CASE("a fetch fails whose object is destroyed: its scopes are told that, and nothing is left of it") {
  while_scopes_wait(io_error, [](Fetch& f, HoldFirst& hold, Waited& scopes, bool) {
    f.object.reset();
    CHECK(f.rig.used(0) == Fetch::size);
    hold.open();
    scopes.all_are_told("destroyed");
    nothing_is_left(f);
    CHECK(f.rig.manager->statistics().blocks == 0);
  });
}

TEST_CASE("an object is retired and destroyed during its fetch") {
  while_scopes_wait({}, [](Fetch& f, HoldFirst& hold, Waited& scopes, bool) {
    f.rig.manager->retire(f.object.ref());
    f.object.reset();
    hold.open();
    scopes.all_are_told("destroyed");
    nothing_is_left(f);
    CHECK(f.rig.manager->statistics().blocks == 0);
  });
}

TEST_CASE("the runtime ends and an object is retired during its fetch, in either order") {
  for (const bool closed_first : {true, false}) {
    CAPTURE(closed_first);
    while_scopes_wait({}, [&](Fetch& f, HoldFirst& hold, Waited& scopes, bool) {
      if (!closed_first) f.rig.manager->retire(f.object.ref());
      auto closer = begin_close(f);
      if (closed_first) f.rig.manager->retire(f.object.ref());
      hold.open();
      scopes.all_are_told("retired object: cold");
      CHECK(closer.get() == std::vector<std::string>{"cold"});
      nothing_is_left(f);
      f.rig.write(f.object, 'w');
      CHECK(f.rig.holds(f.object, 'w'));
    });
  }
}

TEST_CASE("the runtime ends during a fetch that fails: its scopes read again") {
  while_scopes_wait(io_error, [](Fetch& f, HoldFirst& hold, Waited& scopes, bool) {
    auto closer = begin_close(f);
    hold.open();
    scopes.all_enter();
    CHECK(closer.get() == std::vector<std::string>{"cold"});
    CHECK(f.rig.holds(f.object, 'a'));
  });
}

TEST_CASE(
    "the runtime ends during a fetch that fails for good: its scopes are told, and the bytes are kept") {
  Fetch f{false};
  {
    Hold hold{f.rig.slow(), Direction::Read, std::errc::io_error};
    f.prefetch(hold);
    auto scope = scope_on(f, Use::Read);
    until([&] { return f.pins() == 1; });
    auto closer = begin_close(f);
    hold.open();
    CHECK(contains(scope.get(), "reading \"cold\""));
    CHECK(closer.get() == std::vector<std::string>{"cold"});
    f.rig.settle();
    f.rig.slow().fails = nullptr;
  }
  CHECK(f.rig.used(0) == 0_B);
  CHECK(f.rig.holds(f.object, 'a'));
}

TEST_CASE("what is retired during its fetch and then overwritten is alive for those who wait, too") {
  while_scopes_wait({}, [](Fetch& f, HoldFirst& hold, Waited& scopes, bool addressable) {
    f.rig.manager->retire(f.object.ref());
    auto writer = begin_overwrite(f, addressable);
    hold.open();
    writer.get();
    for (const auto& message : scopes.messages())  // the CPU's chunk ends first
      CHECK((message == "" || (addressable && contains(message, "retired object: cold"))));
    f.rig.settle();
    CHECK(f.rig.holds(f.object, 'b'));
    can_be_written_again(f);
  });
}

TEST_CASE(
    "what is overwritten during its fetch and then retired goes, and the device's target with the device") {
  Fetch f{false};
  HoldFirst hold{f.rig.slow(), Direction::Read};
  Waited scopes{f, hold, false};
  begin_overwrite(f, false).get();
  CHECK(ends(scopes.second));
  f.rig.manager->retire(f.object.ref());
  CHECK_FALSE(hold.is_open());
  CHECK(f.rig.used(0) == Fetch::size * (f.pins() == 0 ? 1 : 2));  // the first scope may still pin it
  hold.open();
  CHECK(contains(scopes.first.get(), "retired object: cold"));
  CHECK(scopes.second.get() == "");
  nothing_is_left(f);
  can_be_written_again(f);
}

TEST_CASE("an overwrite wakes who waits for a prefetch, and nobody waits for the device any more") {
  Fetch f{false};
  HoldFirst hold{f.rig.slow(), Direction::Read};
  Waited scopes{f, hold, true};
  begin_overwrite(f, false).get();
  CHECK(ends(scopes.first));
  CHECK(ends(scopes.second));
  CHECK_FALSE(hold.is_open());
  hold.open();
  scopes.all_enter();
  f.rig.settle();
  CHECK(f.rig.holds(f.object, 'b'));
}

namespace {

/// A prefetch that was given up because a scope needs its room; a reader waits for it nevertheless.
struct GivenUp {
  GivenUp(Fetch& f, HoldFirst& hold)
      : large{f.rig.manager->create(7_MiB, 64, "large")}, beside{f.rig.make(64_KiB, 's', "beside")} {
    f.rig.manager->retire(large.ref());
    f.prefetch(hold);
    writer = in_thread([this, &f] {
      std::vector<Operand> batch{Operand::of(beside.ref(), Use::Read),
                                 Operand::of(large.ref(), Use::Overwrite)};
      f.rig.manager->enter(batch, {1, true, {}});
      std::memset(batch[1].address, 'l', batch[1].size);
      Manager::leave(batch);
    });
    until([&] { return beside.ref().object->block->pins() == 1; });
    std::ignore = f.rig.manager->statistics();  // takes the lock, which the writer releases when it waits
    reader = scope_on(f, Use::Read);
    until([&] { return f.pins() == 1; });
  }
  ObjectHandle large, beside;
  std::future<void> writer;
  std::future<std::string> reader;
};

template <class F>
void while_given_up(std::error_code error, std::uint64_t most_cancelled, const F& test) {
  on_both_kinds_of_slow_tier([&](Fetch& f, bool addressable) {
    HoldFirst hold{f.rig.slow(), Direction::Read, error};
    GivenUp given{f, hold};
    test(f, hold, given.reader, addressable);
    hold.open();
    given.writer.get();
    if (given.reader.valid()) CHECK(given.reader.get() == "");
    f.rig.settle();
    CHECK(f.rig.manager->statistics().transfers_cancelled >= 1);
    CHECK(f.rig.manager->statistics().transfers_cancelled <= most_cancelled);
    CHECK(f.rig.holds(given.large, 'l'));
    CHECK(f.rig.holds(given.beside, 's'));
  });
}

}  // namespace

TEST_CASE("who waits for a fetch that was given up for room fetches himself") {
  while_given_up({}, 1, [](Fetch& f, HoldFirst& hold, auto& reader, bool) {
    hold.open();
    CHECK(reader.get() == "");
    CHECK(f.rig.holds(f.object, 'a'));
  });
}

TEST_CASE("a fetch that was given up for room fails: who waits for it reads again") {
  while_given_up(io_error, 1, [](Fetch& f, HoldFirst& hold, auto& reader, bool) {
    hold.open();
    CHECK(reader.get() == "");
    CHECK(f.rig.holds(f.object, 'a'));
  });
}

TEST_CASE("the object of a fetch that was given up for room is retired: who waits for it is told") {
  while_given_up({}, 1, [](Fetch& f, HoldFirst& hold, auto& reader, bool) {
    f.rig.manager->retire(f.object.ref());
    hold.open();
    CHECK(contains(reader.get(), "retired object: cold"));
    CHECK(f.rig.used(1) == 0_B);
    can_be_written_again(f);
  });
}

TEST_CASE("the object of a fetch that was given up for room is destroyed: who waits for it is told") {
  while_given_up({}, 1, [](Fetch& f, HoldFirst& hold, auto& reader, bool) {
    f.object.reset();
    hold.open();
    CHECK(contains(reader.get(), "destroyed"));
    CHECK(f.rig.used(1) == 0_B);
  });
}

TEST_CASE("the object of a fetch that was given up for room is overwritten: who waits for it reads that") {
  while_given_up({}, 2, [](Fetch& f, HoldFirst& hold, auto& reader, bool addressable) {
    const auto version = f.version();
    auto writer = in_thread([&] { f.rig.write(f.object, 'b'); });
    if (addressable) until([&] { return f.version() > version; });
    hold.open();
    writer.get();
    CHECK(reader.get() == "");
    CHECK(f.rig.holds(f.object, 'b'));
  });
}

}  // namespace tier::fetch_pairs_test
