// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Requests that reach the slow tier: how many, and how they are counted.
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "watched.hpp"

#include <tier/core/error.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tier::write_back_test {

using namespace tier::test;

TEST_CASE("a row that was changed counts once for each write-back, its neighbours do not") {
  Watched w{400, 10};
  w.update({0, 1, 9, 1});
  w.update({1, 2});
  CHECK(w.take_statistics().written_rows == 0);
  w.table.flush();
  const auto s = w.take_statistics();
  CHECK(s.written_rows == 4);
  CHECK(s.bytes_in == 2 * block_bytes);  // with rows that are not in slots
  CHECK(s.bytes_out == 2 * block_bytes);
  CHECK(s.bytes_per_written_row() == doctest::Approx(256));
  w.table.flush();
  CHECK(w.take_statistics().bytes_per_written_row() == 0);
  w.update({1});
  w.table.flush();
  CHECK(w.take_statistics().written_rows == 1);
}

TEST_CASE("read amplification is what was read over the rows that were fetched, each once") {
  Watched w{3200, 80};      // 20 rows move in one go
  w.gather({3, 4, 3, 17});  // rows of two blocks
  auto s = w.take_statistics();
  CHECK(s.bytes_in == 2 * block_bytes);
  CHECK(s.bytes_wanted == 3 * row_bytes);
  CHECK(s.read_amplification() == doctest::Approx(2 * 512.0 / (3 * 64)));
  w.gather({3, 4, 17});
  CHECK(w.take_statistics().read_amplification() == 0);  // nothing was fetched
  w.update({5, 40, 41, 47, 47});
  s = w.take_statistics();
  CHECK(s.bytes_in == 2 * block_bytes);
  CHECK(s.bytes_wanted == 4 * row_bytes);
  w.table.prefetch(std::vector<RowId>{42, 80, 81, 81, 399});
  w.table.settle();
  CHECK(w.take_statistics().read_amplification() == doctest::Approx(3 * 512.0 / (4 * 64)));
  std::vector<float> out(20 * dim);
  w.table.read_rows(101, out);  // rows of four blocks
  CHECK(w.take_statistics().read_amplification() == doctest::Approx(4 * 512.0 / (20 * 64)));
}

TEST_CASE("where rows move one by one, each byte that is read is wanted, but for what fills a block") {
  for (const auto kind : {Kind::Rows, Kind::Blocks}) {
    Rig rig{kind};
    auto table = rig.table(100, 206, 10);  // 828 bytes with its state, or two blocks
    table.update(std::vector<RowId>{1, 2}, std::vector<float>(412, 1.0F), Sgd{});
    table.flush();
    const auto s = table.statistics();
    const std::size_t bytes = kind == Kind::Rows ? 828 : 1024;
    CHECK(s.bytes_in == 2 * bytes);
    CHECK(s.bytes_wanted == 2 * 828);
    CHECK(s.bytes_out == 2 * bytes);
    CHECK(s.written_rows == 2);
  }
}

TEST_CASE("changed rows of a victim's block are written with it, and stay where they are") {
  Watched w{800, 8};
  w.update(from(160, 64));  // all rows of eight blocks
  w.slow().take();
  w.take_statistics();
  w.gather({400});
  const auto seen = w.slow().take();
  CHECK(seen.blocks_written == 1);
  CHECK(seen.blocks_read == 1);  // a block whose rows are all changed is not read
  CHECK(w.take_statistics().written_rows == 8);
  CHECK(w.behind() == from(168, 56));
  w.gather(from(161, 7));
  CHECK(w.take_statistics().hits == 7);
  w.gather(from(408, 8));  // replace the next block
  CHECK(w.slow().take().blocks_written == 1);
  w.table.check_invariants();
}

TEST_CASE("a block keeps what its other rows have when one of them is written") {
  Watched w{800, 1};
  w.update({162, 164});
  w.gather(from(400, 6));
  w.slow().take();
  w.gather({500});
  const auto seen = w.slow().take();
  CHECK(seen.blocks_written == 1);
  CHECK(seen.blocks_read == 2);  // one to complete a write, one for the gather
  CHECK(seen.rows_changed == 2);
  CHECK(w.behind().empty());
  CHECK(is(w.table, w.plain));
}

TEST_CASE("a row that a batch holds is not written beside a victim") {
  Watched w{800, 1};
  w.update(from(160, 3));
  const std::vector<RowId> held{161};
  {
    auto batch = w.table.batch(held);
    std::vector<float> out(dim);
    batch.gather(out);
    w.gather(from(400, 6));  // into five free slots, and that of row 160
    CHECK(w.behind() == held);
  }
  w.gather(from(500, 8));
  CHECK(w.behind().empty());
}

TEST_CASE(
    "a flush takes as few operations as there are runs of dirty blocks, whatever the order of updates") {
  Watched w{3200, 180};  // with buffers for 45 blocks
  std::vector<RowId> ids;
  for (RowId block = 0; block < 49; ++block)
    if (block % 10 != 9) ids.push_back(block * rows_in_block);
  std::shuffle(ids.begin(), ids.end(), std::mt19937_64{1});
  for (const auto id : ids) w.update({id});
  w.table.flush();
  CHECK(w.slow().take().write_operations == 5);
  CHECK(w.behind().empty());
}

TEST_CASE("updates through staging go home in one operation where their blocks lie together") {
  Watched w{1600, 64, "first_touch"};  // buffers for 16 blocks
  w.gather(from(0, 512));
  w.slow().take();
  w.update(in_blocks(100, 60));
  const auto seen = w.slow().take();
  CHECK(seen.blocks_written == 60);
  CHECK(seen.write_operations == 4);
  CHECK(w.table.statistics().written_rows == 60);
  CHECK(w.behind().empty());
}

TEST_CASE("the rows of a block that cannot be written stay dirty in their slots, others leave") {
  Watched w{800, 8};
  w.update(from(160, 64));
  w.fail_writes_of(162);
  w.gather({400});
  const auto failed = from(160, 8);
  const auto behind = w.behind();
  CHECK(std::includes(behind.begin(), behind.end(), failed.begin(), failed.end()));
  CHECK(behind.size() == 56);
  CHECK(w.take_statistics().write_errors == 8);
  w.gather(from(480, 100));
  w.gather(from(160, 64));
  CHECK(w.behind() == failed);
  w.table.check_invariants();
  CHECK_THROWS_WITH_AS(w.table.flush(),
                       doctest::Contains("cannot write back table 'clicks' row 160 in tier slow"), TierError);
  w.heal();
  w.table.flush();
  CHECK(w.behind().empty());
  CHECK(is(w.table, w.plain));
}

TEST_CASE("a row is not written to a block that cannot be read, and nothing is lost") {
  Watched w{800, 1};
  w.update({162});
  w.gather(from(400, 7));
  w.fail(Direction::Read, 163);
  w.gather({500});  // replaces another row
  CHECK(w.behind() == std::vector<RowId>{162});
  CHECK(w.take_statistics().write_errors == 1);
  CHECK_THROWS_AS(w.table.flush(), TierError);
  w.heal();
  w.table.flush();
  CHECK(w.behind().empty());
  CHECK(is(w.table, w.plain));
}

TEST_CASE(
    "whatever is updated, evicted, flushed and refused, the slow tier has what it was given, and counts say "
    "so") {
  const auto seed = test::seed();
  CAPTURE(seed);
  constexpr RowId rows = 401;  // the last block is a partial one
  const auto each = steps(10'000) / std::size(row_policies);
  std::uint64_t refused = 0, joined = 0;
  for (const auto* policy : row_policies) {
    CAPTURE(policy);
    std::mt19937_64 random{seed};
    const auto below = [&](std::size_t bound) { return random() % bound; };
    Watched w{rows, 2, policy};
    w.slow().take();
    w.take_statistics();
    std::size_t odds = 0, writes = 0;  // one in so many fails
    bool may_be_stuck = false;
    w.slow().fails = [&](Direction direction, std::uint64_t, std::uint64_t) {
      const bool fails = direction == Direction::Write && odds != 0 && writes++ % odds == odds - 1;
      return fails ? std::make_error_code(std::errc::io_error) : std::error_code{};
    };
    const auto some_ids = [&] {
      std::vector<RowId> ids(1 + below(below(4) == 0 ? 60 : 8));
      const auto near = below(rows);
      for (auto& id : ids) id = static_cast<RowId>((below(2) == 0 ? near + below(30) : below(rows)) % rows);
      return ids;
    };
    const auto repair = [&] {
      odds = 0;
      w.table.flush();
      may_be_stuck = false;
      CHECK(w.behind().empty());
    };
    for (std::uint64_t i = 0; i < each; ++i) {
      const auto ids = some_ids();
      try {
        switch (below(8)) {
          case 0:
          case 1:
            w.gather(ids);
            break;
          case 2:
            odds = below(3) == 0 ? 1 + below(9) : 0;
            may_be_stuck = may_be_stuck || odds != 0;
            break;
          case 3:
            if (below(4) == 0) repair();
            break;
          default: {
            auto after = w.plain;
            const std::vector<float> gradients(ids.size() * dim, -1.0F);
            after.update(ids, gradients, Sgd{1.0F});
            try {
              w.table.update(ids, std::span<const float>{gradients}, Sgd{1.0F});
              w.plain = after;
            } catch (const OutOfTierMemory&) {
              CHECK(may_be_stuck);
              odds = 0;
              w.table.flush();
              CHECK(is_between(w.table, w.plain, after));
              ++refused;
            }
          }
        }
      } catch (const OutOfTierMemory&) {
        CHECK(may_be_stuck);
        ++refused;
      }
      if (i % 16 == 0) w.table.check_invariants();
    }
    repair();
    CHECK(is(w.table, w.plain));
    const auto seen = w.slow().take();
    const auto counted = w.table.statistics();
    CHECK(counted.written_rows == seen.rows_changed);
    CHECK(counted.bytes_out == seen.blocks_written * block_bytes);
    CHECK(counted.bytes_in == seen.blocks_read * block_bytes);
    CHECK(counted.bytes_wanted <= counted.bytes_in);
    joined += seen.rows_changed - seen.blocks_written;
  }
  MESSAGE("seed " << seed << ", " << refused << " refused, " << joined
                  << " rows joined others of their block");
  CHECK(refused > 0);
  CHECK(joined > each);
}

}  // namespace tier::write_back_test
