// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "table/cache/cache_directory.hpp"
#include "table/cache_parts.hpp"

namespace tier::cache_directory_test {

using namespace tier::detail;
using namespace tier::test;

using Told = std::vector<std::string>;

namespace {

/// Begins to fetch a row into a slot, and returns the fetch.
Fetch begin(CacheParts& c, RowSession& session, RowId row, SlotId slot) {
  c.directory.begin_fetch(session, row, slot);
  return session.fetches.all.back();
}

}  // namespace

TEST_CASE("a row is on its way until its fetch ends, and readable from then on") {
  CacheParts c{Kind::Rows, 2};
  auto session = c.session(Purpose::Gather);
  const auto slot = c.directory.slots().take_free();
  const auto fetch = begin(c, session, 9, slot);
  CHECK(fetch.old == no_row);
  CHECK(c.directory.entry(9) == MapEntry::on_its_way(slot));
  CHECK(c.noting->take() == Told{"insert 9 @" + std::to_string(slot)});
  c.directory.end_fetch(session, fetch);
  CHECK(c.directory.entry(9) == MapEntry::readable(slot));
  CHECK(c.directory.slot_of(9) == slot);
  CHECK(c.directory.counters().missed_rows == 1);
  c.directory.let_go(session, 0, false);
  c.directory.check_invariants();
}

TEST_CASE("a clean row leaves the map at once") {
  CacheParts c{Kind::Rows, 1};
  c.gather({3});
  c.noting->take();
  auto session = c.session(Purpose::Gather);
  const auto fetch = begin(c, session, 4, 0);
  CHECK(!fetch.write_back);
  CHECK(c.directory.entry(3).is_nowhere());
  CHECK(c.noting->take() == Told{"erase 3 @0", "insert 4 @0"});
}

TEST_CASE("a dirty row is in the map until it has been written back, but the policy has lost it") {
  CacheParts c{Kind::Rows, 1};
  c.change({3});
  auto session = c.session(Purpose::Gather);
  const auto fetch = begin(c, session, 4, 0);
  CHECK(fetch.write_back);
  CHECK(c.directory.entry(3) == MapEntry::readable(0));
  CHECK(c.directory.slot_of(3) == no_slot);
  CHECK(c.directory.is_being_written(3));
  c.directory.end_eviction(fetch);
  CHECK(c.directory.entry(3).is_nowhere());
  CHECK(!c.directory.is_being_written(3));
  CHECK(c.directory.counters().written_rows == 1);
}

TEST_CASE("if its write-back fails a row keeps its slot, dirty and stuck, and its successor is nowhere") {
  CacheParts c{Kind::Rows, 1};
  c.change({3});
  c.noting->take();
  auto session = c.session(Purpose::Gather);
  auto fetch = begin(c, session, 4, 0);
  fetch.error = std::make_error_code(std::errc::io_error);
  c.directory.undo_eviction(session, fetch);
  CHECK(c.directory.entry(4).is_nowhere());
  CHECK(c.directory.slot_of(3) == 0);
  CHECK(c.directory.is_dirty(3));
  CHECK(c.is_stuck(3));
  CHECK(c.noting->take() == Told{"erase 3 @0", "insert 4 @0", "erase 4 @0", "insert 3 @0"});
  CHECK(session.pins.empty());
  CHECK(c.directory.last_write_error() == fetch.error);
  CHECK(c.directory.counters().write_errors == 1);
  c.directory.check_invariants();
}

TEST_CASE("a fetch that fails frees its slot, and the session knows the first row that failed") {
  CacheParts c{Kind::Rows, 2};
  auto session = c.session(Purpose::Gather);
  for (const RowId row : {7, 8}) {
    auto fetch = begin(c, session, row, c.directory.slots().take_free());
    fetch.error = std::make_error_code(std::errc::io_error);
    c.directory.cancel_fetch(session, fetch);
    CHECK(c.directory.entry(row).is_nowhere());
  }
  CHECK(session.failure.row == 7);
  CHECK(c.directory.slots().count_free() == c.directory.slots().all());
  CHECK(c.directory.counters().read_errors == 2);
  c.directory.check_invariants();
}

TEST_CASE("a row leaves staging with its session, unless it is stuck there") {
  CacheParts c{Kind::Blocks, 1};
  auto session = c.session(Purpose::Update);
  const auto slot = c.directory.slots().take_free_staging();
  c.directory.end_fetch(session, begin(c, session, 5, slot));
  CHECK(!c.directory.entry(5).is_readable());  // others wait until it has left
  SUBCASE("it leaves") {
    c.directory.end_write(slot, {});
    c.directory.let_go(session, 0, true);
    CHECK(c.directory.entry(5).is_nowhere());
    CHECK(c.directory.slots().take_free_staging() == slot);
  }
  SUBCASE("it is stuck") {
    c.directory.end_write(slot, std::make_error_code(std::errc::io_error));
    c.directory.keep_in_staging(slot);
    CHECK(!c.directory.is_done_with_staging(slot));
    c.directory.let_go(session, 0, true);
    CHECK(c.directory.entry(5) == MapEntry::readable(slot));
    CHECK(!c.directory.is_done_with_staging(slot));
    c.directory.end_write(slot, {});  // by a flush
    CHECK(c.directory.is_done_with_staging(slot));
    c.directory.check_invariants();
  }
}

TEST_CASE("a dirty row may be written with its block, unless it is in use, held, stuck or written already") {
  CacheParts c{Kind::Blocks, 4};
  CHECK(!c.directory.may_join(0));
  c.gather({0});
  CHECK(!c.directory.may_join(0));  // it is clean
  c.change({0});
  CHECK(c.directory.may_join(0));
  const auto slot = c.directory.slot_of(0);
  SUBCASE("in use") {
    auto session = c.session(Purpose::Gather);
    c.directory.pin(session, slot);
    CHECK(!c.directory.may_join(0));
    c.directory.let_go(session, 0, false);
    CHECK(c.directory.may_join(0));
  }
  SUBCASE("held") {
    const auto batch = c.directory.batches().open();
    c.directory.hold_used(batch, std::vector<RowId>{0});
    CHECK(!c.directory.may_join(0));
    c.directory.end_batch(batch, {}, true);
    CHECK(c.directory.may_join(0));
  }
  SUBCASE("written, and stuck if that fails") {
    c.directory.begin_write(slot);
    CHECK(c.directory.is_being_written(0));
    CHECK(!c.directory.may_join(0));
    c.directory.end_write(slot, std::make_error_code(std::errc::io_error));
    CHECK(!c.directory.is_being_written(0));
    CHECK(!c.directory.may_join(0));
    CHECK(c.directory.is_dirty(0));
  }
}

TEST_CASE("the hold of a batch that ends passes to another that wants the row") {
  CacheParts c{Kind::Rows, 2};
  const auto first = c.directory.batches().open(), second = c.directory.batches().open();
  c.directory.announce(first, std::vector<RowId>{1});
  c.directory.announce(second, std::vector<RowId>{1});
  c.gather({1});
  auto& state = c.directory.slots()[c.directory.slot_of(1)];
  c.directory.take_hold(state, first);
  c.directory.take_hold(state, second);
  CHECK(state.hold == second);
  c.directory.hold_prefetched(first, std::vector<RowId>{1}, second);
  c.directory.end_batch(second, std::vector<RowId>{1}, true);
  CHECK(state.hold == first);
  CHECK(c.directory.is_held(state));
}

TEST_CASE("the policy hears of the hits in a drained log, and of the misses in a reviewed one, too") {
  CacheParts c{Kind::Rows, 16};
  c.gather({1});
  c.noting->take();
  const auto hit = "hit 1 @" + std::to_string(c.directory.slot_of(1));
  c.log.append(std::vector<RowId>{1, 2, 1});
  SUBCASE("drained") {
    c.directory.drain_log();
    CHECK(c.noting->take() == Told{hit, hit});
    CHECK(c.log.untold().empty());
  }
  SUBCASE("reviewed") {
    std::vector<RowId> admitted;
    CHECK(c.directory.review_log(2, admitted));
    CHECK(c.noting->take() == Told{hit, "miss 2"});
    CHECK(admitted == std::vector<RowId>{2});
    CHECK(!c.directory.review_log(2, admitted));
    CHECK(c.noting->take() == Told{hit});
  }
}

TEST_CASE("invariants that are broken are found") {
  CacheParts c{Kind::Rows, 2};
  c.gather({1});
  c.directory.check_invariants();
  auto& slots = c.directory.slots();
  const auto slot = c.directory.slot_of(1);
  const auto broken = [&](const char* invariant) {
    CHECK_THROWS_WITH_AS(c.directory.check_invariants(), doctest::Contains(invariant), std::logic_error);
  };
  SUBCASE("C1") {
    slots[slot].row = 2;
    broken("(C1)");
  }
  SUBCASE("C2") {
    c.directory.remove(1);
    broken("(C2)");
  }
  SUBCASE("C3") {
    c.map.set(1, MapEntry::on_its_way(slot));
    broken("(C3)");
  }
  SUBCASE("pins") {
    slots.pin(slot, 1);
    broken("pinned");
  }
}

}  // namespace tier::cache_directory_test
