// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  What reaches the slow tier, in how many operations, and how that is counted.
#include "memory/io_engine.hpp"
#include "rig.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"

#include <tier/core/error.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <thread>
#include <vector>

using namespace tier;
using namespace tier::test;

namespace {

constexpr RowId rows_in_block = 8;
constexpr std::size_t dim = 15;  // with its state a row has 64 bytes
constexpr std::size_t row_bytes = 64, block_bytes = 512;

/// Looks at each request as a device does, and knows of each row what it had before.
class WatchedTier final : public MemoryTier {
 public:
  using MemoryTier::MemoryTier;

  struct Seen {
    std::uint64_t write_operations = 0, blocks_written = 0, rows_changed = 0, blocks_read = 0;
  };
  /// Called in the middle of a transfer, before its bytes move; set while nothing moves.
  std::function<void(Direction)> meanwhile;

  void transfer(Direction direction, std::span<IoRequest> requests) noexcept override {
    if (!home_) home_ = requests.front().offset;  // the first contents
    if (meanwhile) meanwhile(direction);
    if (direction == Direction::Write) seen_.write_operations += operations(requests);
    for (auto& request : requests) {
      const auto changed = direction == Direction::Write ? rows_that_differ(request) : 0;
      MemoryTier::transfer(direction, {&request, 1});
      if (request.error) continue;
      (direction == Direction::Write ? seen_.blocks_written : seen_.blocks_read) +=
          request.size / block_bytes;
      seen_.rows_changed += changed;
    }
  }
  /// Since it was asked last.
  Seen take() { return std::exchange(seen_, {}); }
  [[nodiscard]] std::uint64_t home() const { return *home_; }
  /// A row, with its state, is here as it is in the model.
  [[nodiscard]] bool has(RowId row, const PlainTable& plain) {
    const auto* const here = reinterpret_cast<const float*>(contents() + home() + row * row_bytes);
    return plain.row_is(row, here, here + dim);
  }

 private:
  std::uint64_t rows_that_differ(const IoRequest& request) {
    std::uint64_t count = 0;
    for (std::size_t at = 0; at < request.size; at += row_bytes)
      count += std::memcmp(request.memory + at, contents() + request.offset + at, row_bytes) != 0;
    return count;
  }

  std::optional<std::uint64_t> home_;
  Seen seen_;
};

/// A table of eight rows a block, on a tier that is watched.
class Watched {
 public:
  explicit Watched(RowId rows, RowId blocks_cached, std::string_view policy = "lru")
      : rig_{Kind::Blocks, 2,
             [](MemoryTierOptions options) {
               options.capacity = 256_KiB;
               return std::make_unique<WatchedTier>(std::move(options));
             }},
        table{rig_.table(rows, dim, std::uint64_t{blocks_cached} * rows_in_block, policy)},
        plain{rows, dim} {
    slow().take();
  }

  [[nodiscard]] WatchedTier& slow() { return static_cast<WatchedTier&>(*rig_.slow); }
  void update(const std::vector<RowId>& ids, float gradient = -1.0F) {
    const std::vector<float> gradients(ids.size() * dim, gradient);
    auto after = plain;
    after.update(ids, gradients, Sgd{1.0F});
    table.update(ids, std::span<const float>{gradients}, Sgd{1.0F});
    plain = after;
  }
  void gather(const std::vector<RowId>& ids) {
    const auto rows = test::gather(table, ids);
    CHECK(same_bits(rows, plain.gather(ids)));
  }
  /// Of those rows that are not in the slow tier as they should be.
  [[nodiscard]] std::vector<RowId> behind() {
    std::vector<RowId> rows;
    for (RowId row = 0; row < table.rows(); ++row)
      if (!slow().has(row, plain)) rows.push_back(row);
    return rows;
  }
  TableStatistics take_statistics() {
    const auto statistics = table.statistics();
    table.reset_statistics();
    return statistics;
  }
  void fail_writes_of(RowId row) {
    slow().fails = [this, row](Direction direction, std::uint64_t offset, std::uint64_t size) {
      const auto at = slow().home() + std::uint64_t{row} * row_bytes;
      const bool bad = direction == Direction::Write && offset <= at && at < offset + size;
      return bad ? std::make_error_code(std::errc::io_error) : std::error_code{};
    };
  }
  void heal() { slow().fails = {}; }

 private:
  Rig rig_;

 public:
  RowTable<float> table;
  PlainTable plain;
};

/// The first row of each of these blocks.
std::vector<RowId> in_blocks(RowId first, RowId count) {
  std::vector<RowId> ids;
  for (RowId i = 0; i < count; ++i) ids.push_back((first + i) * rows_in_block);
  return ids;
}

}  // namespace

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

TEST_CASE("an update waits for the write-back of its block, and is not lost by it") {
  Watched w{800, 8};
  w.update(in_blocks(20, 8));
  std::atomic<bool> writing{false}, met{false};
  std::jthread other;
  w.slow().meanwhile = [&](Direction direction) {
    if (direction == Direction::Read || other.joinable()) return;
    writing = true;
    const auto before = w.table.statistics().updated;
    other = std::jthread{[&] {
      const auto ids = in_blocks(23, 1);
      w.table.update(ids, std::vector<float>(dim, -1.0F),
                     [&](std::span<float> row, std::span<float>, std::span<const float> gradient) noexcept {
                       met = met || writing;
                       for (std::size_t i = 0; i < dim; ++i) row[i] -= gradient[i];
                     });
    }};
    while (w.table.statistics().updated == before) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // if it did not wait, it would be there by now
    writing = false;
  };
  w.gather(in_blocks(50, 1));
  other.join();
  w.slow().meanwhile = {};
  CHECK(!met);
  w.plain.update(in_blocks(23, 1), std::vector<float>(dim, -1.0F), Sgd{1.0F});
  CHECK(w.behind() == in_blocks(23, 1));
  w.table.flush();
  CHECK(w.behind().empty());
}

TEST_CASE("a flush waits for a block that is on its way home, and writes it if it does not get there") {
  Watched w{800, 8};
  w.update(in_blocks(20, 1));
  w.gather(in_blocks(30, 7));
  std::atomic<bool> flushing{false};
  std::jthread other;
  w.fail_writes_of(20 * rows_in_block);
  w.slow().meanwhile = [&](Direction direction) {
    if (direction == Direction::Read || other.joinable()) return;
    other = std::jthread{[&] {
      flushing = true;
      w.table.flush();
    }};
    while (!flushing) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // if it did not wait, it would be over by now
  };
  std::atomic<int> writes{0};
  const auto fails = w.slow().fails;
  w.slow().fails = [&](Direction direction, std::uint64_t offset, std::uint64_t size) {
    return direction == Direction::Write && writes++ == 0 ? fails(direction, offset, size)
                                                          : std::error_code{};
  };
  w.gather(in_blocks(50, 1));
  other.join();
  w.slow().meanwhile = {};
  CHECK(writes == 2);
  CHECK(w.behind().empty());
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
