// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/cache/row_session.hpp"

#include <doctest/doctest.h>

#include "table/cache/move_limits.hpp"
#include "table/cache/slot_table.hpp"
#include "table/rows/row_layout.hpp"

namespace tier::row_session_test {

using namespace tier::detail;

namespace {

Fetch fetch_of(RowId row) { return {row, 0, no_row, false, 0, {}}; }

}  // namespace

TEST_CASE("fetches are as many as are moved at once, in rows or in blocks") {
  const MoveLimits limits{.fetches = 5, .blocks = 2, .moves = 5, .requests = 0};
  FetchList fetches;
  for (const RowId row : {0, 1, 2}) fetches.add(fetch_of(row), 8);
  CHECK(fetches.blocks == 1);
  CHECK(!fetches.is_full(limits));
  SUBCASE("blocks") { fetches.add(fetch_of(8), 8); }
  SUBCASE("rows") {
    fetches.add(fetch_of(3), 8);
    CHECK(!fetches.is_full(limits));
    fetches.add(fetch_of(4), 8);
  }
  CHECK(fetches.is_full(limits));
  fetches.clear();
  CHECK(!fetches.is_full(limits));
  CHECK(fetches.blocks == 0);
}

TEST_CASE("limits fit the buffers of a cache whose rows are in blocks, and the staging of any") {
  RowLayout layout{.rows = 1000, .row_bytes = 64, .block_rows = 8, .block_bytes = 512};
  const CacheShape shape{.slots = 100, .staging = 1024, .buffers = 3};
  const auto blocks = MoveLimits::of(layout, shape);
  CHECK(blocks.fetches == 24);
  CHECK(blocks.blocks == 3);
  CHECK(blocks.moves == 1024);
  layout.block_rows = 1;
  layout.block_bytes = layout.row_bytes;
  const auto rows = MoveLimits::of(layout, {.slots = 100, .staging = 64});
  CHECK(rows.fetches == 1024);
  CHECK(rows.blocks > rows.fetches);
  CHECK(rows.requests == 2 * rows.moves);  // of values, and of states
}

TEST_CASE(
    "open sessions have serial numbers of their own, and those that the program waits for are counted") {
  OpenSessions sessions;
  RowSession gather, prefetch;
  gather.start(Purpose::Gather, 0, 1);
  prefetch.start(Purpose::Prefetch, 0, 0);
  sessions.open(prefetch);
  CHECK(!sessions.any_awaited());
  sessions.open(gather);
  CHECK(sessions.any_awaited());
  CHECK(gather.serial != prefetch.serial);
  CHECK(gather.serial != 0);
  sessions.close(gather);
  CHECK(!sessions.any_awaited());
  CHECK(!sessions.none());
  sessions.close(prefetch);
  CHECK(sessions.none());
}

TEST_CASE("a session that is opened again has neither forced slots nor failures left") {
  OpenSessions sessions;
  RowSession session;
  sessions.open(session);
  session.force = true;
  session.failure = {3, std::make_error_code(std::errc::io_error)};
  sessions.close(session);
  sessions.open(session);
  CHECK(!session.force);
  CHECK(!session.failure);
}

}  // namespace tier::row_session_test
