// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/shares.hpp"

#include <doctest/doctest.h>
#include <cmath>
#include <limits>
#include <tier/table/table_options.hpp>

using tier::bench::fast_share;
using tier::bench::on_time_share;
using tier::bench::overhead_share;
using tier::bench::stalled_share;

TEST_CASE("what was fetched is not fast, and what was waited for not on time") {
  CHECK(fast_share(6, 8) == 0.25);
  CHECK(fast_share(0, 8) == 1);
  CHECK(fast_share(9, 8) == 0);  // some were fetched for later uses
  CHECK(fast_share(3, 0) == 1);
  CHECK(on_time_share(2, 8) == 0.75);
  CHECK(on_time_share(8, 8) == 0);
  CHECK(on_time_share(0, 0) == 1);
}

TEST_CASE("a table's own shares are those of its counts") {
  struct Counts {
    std::uint64_t asked, updated, missed, prefetched, waited;
  };
  for (const auto& [asked, updated, missed, prefetched, waited] :
       {Counts{0, 0, 0, 0, 0}, Counts{0, 0, 0, 5, 0}, Counts{7, 0, 0, 0, 0}, Counts{20, 4, 1, 10, 2},
        Counts{0, 6, 3, 0, 0}, Counts{3, 0, 2, 9, 3}}) {
    tier::TableStatistics table;
    table.asked = asked;
    table.updated = updated;
    table.missed_rows = missed;
    table.prefetched_rows = prefetched;
    table.waited = waited;
    CHECK(table.fast_share() == fast_share(missed + prefetched, asked + updated));
    CHECK(table.on_time_share() == on_time_share(waited, asked));
  }
}

TEST_CASE("the overhead is what is taken beyond the plain program, but for copies that can go at once") {
  CHECK(overhead_share(125, 0, 100) == 0.25);
  CHECK(overhead_share(135, 10, 100) == 0.25);
  CHECK(overhead_share(100, 50, 100) == -0.5);
}

TEST_CASE("stalled time is a share of what all threads had, and not known if it is not known") {
  CHECK(stalled_share(3, 2, 6) == 0.25);
  CHECK(stalled_share(3, 1, 6) == 0.5);
  CHECK(stalled_share(0, 2, 0) == 0);
  CHECK(std::isnan(stalled_share(std::numeric_limits<double>::quiet_NaN(), 2, 6)));
}
