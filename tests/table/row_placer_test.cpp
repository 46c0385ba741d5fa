// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cstddef>

#include "table/cache/row_placer.hpp"
#include "table/cache_parts.hpp"

namespace tier::row_placer_test {

using namespace tier::detail;
using namespace tier::test;

using Step = RowPlacer::Step;

TEST_CASE("a row that is in a slot is used there, and pinned once by each session") {
  CacheParts c{Kind::Rows, 2};
  c.gather({3});
  auto session = c.session(Purpose::Gather);
  RowAddress address;
  CHECK(c.placer.place(session, 3, address) == Step::Ready);
  CHECK(c.placer.place(session, 3, address) == Step::Ready);
  CHECK(address == c.memory.slot(c.directory.slot_of(3)));
  CHECK(session.pins.size() == 1);
  CHECK(session.waited == 0);
}

TEST_CASE("a session waits for a row that another one fetches, and not for its own") {
  CacheParts c{Kind::Rows, 2};
  auto first = c.session(Purpose::Gather), second = c.session(Purpose::Gather);
  RowAddress address;
  CHECK(c.placer.place(first, 3, address) == Step::Ready);
  CHECK(c.placer.place(second, 3, address) == Step::Busy);
  CHECK(c.placer.place(first, 3, address) == Step::Ready);
  c.mover.carry_out(first);
  CHECK(c.placer.place(second, 3, address) == Step::Ready);
}

TEST_CASE("a missed row takes a free slot, then that of a victim, which nobody uses") {
  CacheParts c{Kind::Blocks, 2};
  auto first = c.session(Purpose::Gather), second = c.session(Purpose::Update);
  RowAddress address;
  CHECK(c.placer.place(first, 3, address) == Step::Ready);
  c.mover.carry_out(first);
  c.gather({4});
  CHECK(c.placer.place(second, 5, address) == Step::Ready);
  CHECK(c.directory.entry(4).is_nowhere());
  CHECK(!c.directory.entry(3).is_nowhere());
  CHECK(c.placer.place(second, 6, address) == Step::Ready);  // both slots are in use
  CHECK(c.directory.slots().is_staging(c.directory.entry(6).slot()));
  CHECK(c.placer.place(second, 7, address) == Step::NoRoom);
}

TEST_CASE("a row that is not admitted is read in an addressable slow tier, but updated in staging") {
  CacheParts c{Kind::Rows, 2};
  c.noting->admits = false;
  auto reads = c.session(Purpose::Gather), writes = c.session(Purpose::Update);
  RowAddress address;
  CHECK(c.placer.place(reads, 3, address) == Step::Ready);
  CHECK(address == c.home.rows()[3]);
  CHECK(c.directory.entry(3).is_nowhere());
  CHECK(c.placer.place(writes, 3, address) == Step::Ready);
  CHECK(c.directory.slots().is_staging(c.directory.entry(3).slot()));
}

TEST_CASE("a prefetch takes no slot that a batch holds, and a gather does, if it has to") {
  CacheParts c{Kind::Rows, 1};
  const auto batch = c.directory.batches().open();
  c.gather({3});
  c.directory.take_hold(c.directory.slots()[0], batch);
  const auto ahead = c.session(Purpose::Prefetch), now = c.session(Purpose::Gather);
  const auto same = c.session(Purpose::Gather, batch);
  CHECK(c.placer.take_slot(ahead, 4) == no_slot);
  CHECK(c.placer.take_slot(same, 4) == no_slot);
  CHECK(c.placer.take_slot(now, 4) == 0);
  CHECK(c.directory.counters().holds_given_up == 1);
}

TEST_CASE("a session that no other one will make room for takes any slot, whatever the policy says") {
  CacheParts c{Kind::Rows, 2};
  c.gather({3, 4});
  c.noting->gives_up = false;
  auto session = c.session(Purpose::Update);
  CHECK(c.placer.take_slot(session, 5) == no_slot);
  session.force = true;
  CHECK(c.placer.take_slot(session, 5) < 2);
}

TEST_CASE("rows that are missing are refused in the child of a fork, and rows in slots are not") {
  CacheParts c{Kind::Rows, 2};
  c.gather({3});
  c.home.cut_off();
  auto session = c.session(Purpose::Gather);
  RowAddress address;
  CHECK(c.placer.place(session, 3, address) == Step::Ready);
  CHECK(c.placer.place(session, 4, address) == Step::Unreadable);
  CHECK(session.failure.row == 4);
  CHECK(session.failure.error == std::errc::operation_not_permitted);
}

}  // namespace tier::row_placer_test
