// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>

#include "table/cache/row_mover.hpp"
#include "table/cache_parts.hpp"

namespace tier::row_mover_test {

using namespace tier::detail;
using namespace tier::test;

namespace {

/// Begins to fetch a row, which evicts another if the slots are full, and carries it out.   \return  as `carry_out`
bool fetch(CacheParts& c, RowSession& session, RowId row) {
  RowAddress address;
  REQUIRE(c.placer.place(session, row, address) == RowPlacer::Step::Ready);
  return c.mover.carry_out(session);
}

}  // namespace

TEST_CASE("a fetched row has the bytes of its home") {
  CacheParts c{Kind::Blocks, 4};
  c.gather({11, 12});
  const auto row = c.memory.slot(c.directory.slot_of(12));
  CHECK(row.values[0] == std::byte{12});
  CHECK(std::memcmp(row.values, row.values + 1, c.layout.values_bytes() - 1) == 0);
  CHECK(std::memcmp(row.values, row.state, c.layout.state_bytes()) == 0);
  c.directory.check_invariants();
}

TEST_CASE("a dirty victim is written with the dirty rows of its block, which stay, clean") {
  CacheParts c{Kind::Blocks, 4};
  c.change({8, 9, 16});
  c.gather({40});
  auto session = c.session(Purpose::Gather);
  CHECK(fetch(c, session, 41));
  CHECK(c.directory.entry(8).is_nowhere());  // it was in the lowest slot
  CHECK(c.is_at_home(8, true));
  CHECK(c.is_at_home(9, true));
  CHECK(!c.directory.is_dirty(9));
  CHECK(c.directory.slot_of(9) != no_slot);
  CHECK(c.is_at_home(10, false));
  CHECK(c.directory.is_dirty(16));  // in another block
  c.directory.let_go(session, 0, false);
  c.directory.check_invariants();
}

TEST_CASE("if the block of a victim cannot be written, its rows stay dirty in their slots until a flush") {
  CacheParts c{Kind::Blocks, 2};
  c.change({8, 9});
  c.fail(Direction::Write, 8);
  auto session = c.session(Purpose::Gather);
  CHECK(!fetch(c, session, 40));
  CHECK(session.fetches.all.empty());
  CHECK(!session.failure);
  for (const RowId row : {8, 9}) {
    CHECK(c.directory.is_dirty(row));
    CHECK(c.is_stuck(row));
    CHECK(c.memory.slot(c.directory.slot_of(row)).values[0] == ~std::byte(row));
  }
  CHECK(c.directory.counters().write_errors == 2);
  CHECK(c.mover.write_dirty(session).row == 8);
  CHECK(c.directory.is_dirty(9));
  c.heal();
  CHECK(!c.mover.write_dirty(session));
  for (const RowId row : {8, 9}) {
    CHECK(!c.directory.is_dirty(row));
    CHECK(!c.is_stuck(row));
    CHECK(c.is_at_home(row, true));
  }
  c.directory.check_invariants();
}

TEST_CASE("a row that cannot be read is nowhere, and its slot is free") {
  CacheParts c{Kind::Blocks, 2};
  c.fail(Direction::Read, 8);
  auto session = c.session(Purpose::Gather);
  CHECK(fetch(c, session, 9));
  CHECK(session.failure.row == 9);
  CHECK(c.directory.entry(9).is_nowhere());
  CHECK(c.directory.slots().count_free() == c.directory.slots().all());
  c.directory.check_invariants();
}

TEST_CASE("an update through staging is written home, and what cannot be written waits there for a flush") {
  CacheParts c{Kind::Blocks, 2};
  c.noting->admits = false;
  c.change({8});
  CHECK(c.is_at_home(8, true));
  CHECK(c.directory.entry(8).is_nowhere());
  c.fail(Direction::Write, 17);
  c.change({17});
  CHECK(c.directory.slots().is_staging(c.directory.entry(17).slot()));
  CHECK(c.directory.is_dirty(17));
  c.heal();
  auto session = c.session(Purpose::Flush);
  CHECK(!c.mover.write_dirty(session));
  CHECK(c.is_at_home(17, true));
  CHECK(c.directory.entry(17).is_nowhere());
  c.directory.check_invariants();
}

TEST_CASE("nothing reaches the slow tier after it was cut off") {
  CacheParts c{Kind::Blocks, 1};
  c.change({8});
  c.home.cut_off();
  auto session = c.session(Purpose::Flush);
  CHECK(c.mover.write_dirty(session).error == std::errc::operation_not_permitted);
  CHECK(c.is_at_home(8, false));
  CHECK(c.directory.is_dirty(8));
}

}  // namespace tier::row_mover_test
