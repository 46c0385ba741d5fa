// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  What reaches the slow tier, in how many operations, and how that is counted.
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "watched.hpp"

#include <tier/core/error.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace tier;
using namespace tier::test;

TEST_CASE("a row that was changed counts once for each write-back, its neighbours do not") {
  Watched w{400, 10};
  w.update({0, 1, 9, 1});
  w.update({1, 2});
  CHECK(w.take_statistics().written_rows == 0);
  w.table.flush();
  auto s = w.take_statistics();
  CHECK(s.written_units == 2);
  CHECK(s.written_rows == 4);
  CHECK(s.bytes_out == 2 * block_bytes);
  CHECK(s.bytes_per_written_row() == doctest::Approx(256));
  w.table.flush();
  CHECK(w.take_statistics().bytes_per_written_row() == 0);
  w.update({1});
  w.table.flush();
  CHECK(w.take_statistics().written_rows == 1);
}

TEST_CASE("read amplification is what fetches took over the rows that they were for, each once") {
  Watched w{400, 20};
  w.gather({3, 4, 3, 17});  // two blocks
  auto s = w.take_statistics();
  CHECK(s.bytes_in == 2 * block_bytes);
  CHECK(s.bytes_wanted == 3 * row_bytes);
  CHECK(s.read_amplification() == doctest::Approx(2 * 512.0 / (3 * 64)));
  w.gather({3, 5, 18});
  CHECK(w.take_statistics().read_amplification() == 0);  // nothing was fetched
  w.update({5, 40, 41, 47, 47});
  CHECK(w.take_statistics().bytes_wanted == 3 * row_bytes);
  w.table.prefetch(std::vector<RowId>{42, 80, 81, 81, 399});
  w.table.settle();
  CHECK(w.take_statistics().bytes_wanted == 3 * row_bytes);
  std::vector<float> out(20 * dim);
  w.table.read_rows(101, out);  // rows of four blocks
  s = w.take_statistics();
  CHECK(s.bytes_in == 4 * block_bytes);
  CHECK(s.bytes_wanted == 20 * row_bytes);
}

TEST_CASE("where units are rows, each byte that is read is wanted, but for what pads a row") {
  for (const auto kind : {Kind::Rows, Kind::Blocks}) {
    Rig rig{kind};
    auto table = rig.table(100, 206, 10);  // 828 bytes with its state: 13 cache lines, or two blocks
    table.update(std::vector<RowId>{1, 2}, std::vector<float>(412, 1.0F), Sgd{});
    table.flush();
    const auto s = table.statistics();
    const std::size_t bytes = kind == Kind::Rows ? 832 : 1024;
    CHECK(s.bytes_in == 2 * bytes);
    CHECK(s.bytes_wanted == 2 * 828);
    CHECK(s.bytes_out == 2 * bytes);
    CHECK(s.written_rows == 2);
  }
}

TEST_CASE("dirty blocks beside a victim leave with it, in one operation, and stay where they are") {
  Watched w{800, 8};
  w.update(in_blocks(20, 8));
  w.slow().take();
  w.take_statistics();
  w.gather(in_blocks(50, 1));
  auto seen = w.slow().take();
  CHECK(seen.write_operations == 1);
  CHECK(seen.blocks_written == 8);
  CHECK(w.take_statistics().written_rows == 8);
  CHECK(w.behind().empty());
  w.gather(in_blocks(21, 7));
  CHECK(w.take_statistics().hits == 7);
  w.gather(in_blocks(60, 8));
  CHECK(w.slow().take().blocks_written == 0);
  w.table.check_invariants();
}

TEST_CASE("a block that a batch holds is not written beside a victim") {
  Watched w{800, 4};
  w.update(in_blocks(20, 3));
  const auto held = in_blocks(21, 1);
  {
    auto batch = w.table.batch(held);
    std::vector<float> out(dim);
    batch.gather(out);
    w.gather(in_blocks(50, 2));  // into a free slot, and that of block 20
    CHECK(w.behind() == in_blocks(21, 2));
  }
  w.slow().take();
  w.gather(in_blocks(52, 1));
  CHECK(w.behind().empty());
  CHECK(w.slow().take().write_operations == 1);
}

TEST_CASE(
    "a flush takes as few operations as there are runs of dirty blocks, whatever the order of updates") {
  Watched w{400, 49};
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
  Watched w{1600, 64, "first_touch"};  // with staging of eight blocks
  w.gather(in_blocks(0, 64));
  w.update(in_blocks(100, 60));
  const auto seen = w.slow().take();
  CHECK(seen.blocks_written == 60);
  CHECK(seen.write_operations == 8);
  CHECK(w.table.statistics().written_rows == 60);
  CHECK(w.behind().empty());
}

TEST_CASE("a block that cannot be written beside a victim stays dirty in its slot, the others leave") {
  Watched w{800, 8};
  w.update(in_blocks(20, 8));
  w.fail_writes_of(22 * rows_in_block);
  w.gather(in_blocks(50, 1));
  CHECK(w.behind() == in_blocks(22, 1));
  CHECK(w.take_statistics().write_errors == 1);
  w.gather(in_blocks(60, 12));
  w.gather(in_blocks(20, 8));
  CHECK(w.behind() == in_blocks(22, 1));
  w.table.check_invariants();
  CHECK_THROWS_AS(w.table.flush(), TierError);
  w.heal();
  w.table.flush();
  CHECK(w.behind().empty());
  CHECK(w.take_statistics().written_rows == 1);
}

TEST_CASE("a victim that cannot be written stays, and the blocks beside it are clean") {
  Watched w{800, 8};
  w.update(in_blocks(20, 8));
  w.fail_writes_of(20 * rows_in_block);
  w.gather(in_blocks(50, 1));
  CHECK(w.behind() == in_blocks(20, 1));
  w.gather(in_blocks(20, 8));
  w.table.check_invariants();
}

TEST_CASE(
    "whatever is updated, evicted, flushed and refused, the slow tier has what it was given, and counts say "
    "so") {
  const auto seed = test::seed();
  CAPTURE(seed);
  constexpr RowId rows = 401;  // a part of a block at the end
  const auto each = steps(2000);
  std::uint64_t refused = 0, joined = 0;
  for (const auto* policy : row_policies) {
    CAPTURE(policy);
    std::mt19937_64 random{seed};
    const auto below = [&](std::size_t bound) { return random() % bound; };
    Watched w{rows, 12, policy};
    w.slow().take();
    w.take_statistics();
    std::size_t odds = 0, writes = 0;  // every how many of them fails
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
    CHECK(counted.written_units == seen.blocks_written);
    CHECK(counted.bytes_out == seen.blocks_written * block_bytes);
    CHECK(counted.bytes_in == seen.blocks_read * block_bytes);
    CHECK(counted.bytes_wanted <= counted.bytes_in);
    CHECK(seen.write_operations < seen.blocks_written);
    joined += seen.blocks_written - seen.write_operations;
  }
  MESSAGE("seed " << seed << ", " << refused << " refused, " << joined << " blocks joined others");
  CHECK(refused > 0);
  CHECK(joined > each);
}
