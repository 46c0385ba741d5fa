// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rig.hpp"

#include <tier/core/error.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <latch>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tier::batch_test {

using namespace tier::test;

namespace {

std::vector<RowId> range(RowId first, RowId last) {
  std::vector<RowId> ids(last - first);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

/// Stops the slow tier in the middle of a transfer.
class Gate {
 public:
  Gate(MemoryTier& tier, Direction direction) {
    tier.fails = [this, direction](Direction moved, std::uint64_t, std::uint64_t) {
      if (moved == direction && armed_.exchange(false)) {
        reached_.count_down();
        opened_.wait();
      }
      return std::error_code{};
    };
  }
  void wait_until_reached() { reached_.wait(); }
  void open() { opened_.count_down(); }

 private:
  std::atomic<bool> armed_{true};
  std::latch reached_{1}, opened_{1};
};

}  // namespace

TEST_CASE("a prefetched batch is there when it is gathered") {
  for (const auto kind : {Kind::Rows, Kind::Blocks}) {
    Rig rig{kind};
    auto table = rig.table(1000, 100, 50);
    const PlainTable plain{1000, 100};
    const auto ids = range(100, 140);
    table.prefetch(table.announce(ids));
    table.settle();
    CHECK(same_bits(gather(table, ids), plain.gather(ids)));
    CHECK(table.statistics().waited == 0);
    CHECK(table.statistics().prefetched_rows == 40);
  }
}

TEST_CASE("an announcement moves nothing, but its rows leave last") {
  Rig rig{Kind::Rows};
  auto table = rig.table(1000, 4, 20);
  gather(table, range(0, 20));
  const auto ids = range(0, 5);  // the first to leave, by recency
  const auto batch = table.announce(ids);
  CHECK(table.statistics().prefetched_rows == 0);
  gather(table, range(100, 115));
  table.reset_statistics();
  gather(table, ids);
  CHECK(table.statistics().waited == 0);
  table.cancel(batch);  // the batch has ended: ignored
}

TEST_CASE("prefetched rows are held until their batch has been gathered") {
  Rig rig{Kind::Rows};
  auto table = rig.table(1000, 4, 20);
  const auto first = range(0, 20), second = range(100, 110);
  table.prefetch(first);
  table.settle();
  table.prefetch(second);
  table.settle();
  CHECK(table.statistics().prefetched_rows == 20);
  CHECK(table.statistics().prefetches_stalled == 1);

  SUBCASE("then the next batch goes on by itself") {
    gather(table, first);
    CHECK(table.statistics().waited == 0);
    table.settle();
    CHECK(table.statistics().prefetched_rows == 30);
    gather(table, second);
    CHECK(table.statistics().waited == 0);
  }
  SUBCASE("or cancelled") {
    table.cancel(table.announce(range(500, 501)));  // cancelling another batch changes nothing
    table.settle();
    CHECK(table.statistics().prefetched_rows == 20);
  }
}

TEST_CASE("a cancelled batch lets go of its rows, and they count as prefetched in vain") {
  Rig rig{Kind::Rows};
  auto table = rig.table(1000, 4, 20);
  const auto first = table.prefetch(range(0, 20));
  table.settle();
  const auto second = range(10, 30);
  table.prefetch(second);
  table.settle();
  table.cancel(first);
  table.settle();
  CHECK(table.statistics().prefetched_rows == 30);
  CHECK(table.statistics().prefetched_unused == 20 - 10);  // rows 10 to 19 are held for the other batch
  gather(table, second);
  CHECK(table.statistics().waited == 0);
}

TEST_CASE("rows that the last of several batches held are held for the last of those that are left") {
  Rig rig{Kind::Rows};
  auto table = rig.table(1000, 4, 20, "lru");
  const std::vector<RowId> first{0, 1, 2, 3, 4, 5}, second{0, 1, 2, 3, 4, 6}, third{0, 1, 2, 3, 4, 7};
  table.prefetch(first);
  table.prefetch(second);
  const auto last = table.prefetch(third);
  table.settle();
  table.cancel(last);
  CHECK(table.statistics().prefetched_unused == 1);
  gather(table, first);
  const auto more = table.prefetch(range(100, 120));
  table.settle();
  CHECK(table.statistics().prefetched_rows == 8 + 14);
  table.cancel(more);  // nothing is resumed for it
  table.settle();
  const auto waited = table.statistics().waited;
  gather(table, second);
  CHECK(table.statistics().waited == waited);
}

TEST_CASE("a batch that was not announced takes no hold of one that was") {
  Rig rig{Kind::Rows};
  auto table = rig.table(1000, 4, 20, "lru");
  const auto update = [&](const std::vector<RowId>& ids) {
    const std::vector<float> gradients(ids.size() * 4, 1);
    table.update(ids, gradients, [](std::span<float>, std::span<float>, std::span<const float>) noexcept {});
  };
  const auto ids = range(0, 10);
  SUBCASE("neither after its prefetch") {
    table.prefetch(ids);
    table.settle();
    update(range(5, 15));
  }
  SUBCASE("nor before it") {
    const auto batch = table.announce(ids);
    update(range(0, 11));
    table.prefetch(batch);
    table.settle();
  }
  const auto before = table.statistics();
  const auto more = table.prefetch(range(100, 120));
  table.settle();
  CHECK(table.statistics().prefetched_rows - before.prefetched_rows == 10);
  table.cancel(more);  // nothing is resumed for it
  table.settle();
  gather(table, ids);
  CHECK(table.statistics().waited == before.waited);
}

TEST_CASE("a batch that is gathered out of turn leaves the rows of earlier ones held") {
  Rig rig{Kind::Rows};
  auto table = rig.table(1000, 4, 20, "lru");
  table.prefetch(range(0, 10));
  table.prefetch(range(5, 15));
  table.settle();
  gather(table, range(5, 15));
  const auto more = table.prefetch(range(100, 120));
  table.settle();
  CHECK(table.statistics().prefetched_rows == 15 + 10);
  table.cancel(more);  // nothing is resumed for it
  table.settle();
  gather(table, range(0, 10));
  CHECK(table.statistics().waited == 0);
}

TEST_CASE("a batch that is cancelled leaves the rows of an earlier one held whose prefetch is under way") {
  Rig rig{Kind::Rows};
  auto table = rig.table(1000, 4, 20, "lru");
  const auto first = table.announce(range(0, 10));
  const auto second = table.prefetch(range(0, 5));
  table.settle();
  {
    Gate gate{*rig.slow, Direction::Read};
    table.prefetch(first);
    gate.wait_until_reached();
    table.cancel(second);
    gate.open();
    table.settle();
    rig.slow->fails = nullptr;
  }
  const auto more = table.prefetch(range(100, 120));
  table.settle();
  CHECK(table.statistics().prefetched_rows == 10 + 10);
  table.cancel(more);  // nothing is resumed for it
  table.settle();
  gather(table, range(0, 10));
  CHECK(table.statistics().waited == 0);
}

TEST_CASE("a prefetch that has found all slots pinned by a flush, or a gather that fails, looks again") {
  for (const bool flush : {true, false}) {
    CAPTURE(flush);
    Rig rig{Kind::Rows};
    auto table = rig.table(1000, 4, 20, "lru");
    table.update(range(0, 20), std::vector<float>(80, 1.0F), Sgd{});
    if (!flush) table.flush();
    std::atomic<bool> first{true};
    rig.slow->fails = [&](Direction direction, std::uint64_t, std::uint64_t) -> std::error_code {
      if (direction != (flush ? Direction::Write : Direction::Read) || !first.exchange(false)) return {};
      table.prefetch(range(100, 110));
      table.settle();
      return flush ? std::error_code{} : std::make_error_code(std::errc::io_error);
    };
    if (flush)
      table.flush();
    else
      CHECK_THROWS_AS(gather(table, range(200, 220)), TierError);
    table.settle();
    CHECK(table.statistics().prefetched_rows == 10);
  }
}

TEST_CASE(
    "a row that one batch has used was not prefetched in vain, though a later one wanted it too and is "
    "cancelled") {
  Rig rig{Kind::Rows};
  auto table = rig.table(1000, 4, 20);
  const auto first = range(0, 10), second = range(5, 15);
  table.prefetch(first);
  const auto later = table.prefetch(second);
  table.settle();
  gather(table, first);
  table.cancel(later);
  CHECK(table.statistics().prefetched_rows == 15);
  CHECK(table.statistics().prefetched_unused == 5);
}

TEST_CASE("held rows leave, or others are used in the slow tier, before anyone waits: as the policy says") {
  for (const auto kind : {Kind::Rows, Kind::Blocks}) {
    for (const auto policy : {"lru", "hint_aware"}) {
      Rig rig{kind};
      auto table = rig.table(1000, 100, 20, policy);
      PlainTable plain{1000, 100};
      const auto held = range(0, 20);
      table.prefetch(held);
      table.settle();
      const auto others = range(100, 110);
      CHECK(same_bits(gather(table, others), plain.gather(others)));
      table.update(others, std::vector<float>(1000, 1.0F), Sgd{});
      plain.update(others, std::vector<float>(1000, 1.0F), Sgd{});
      const bool gives_up = policy == std::string_view{"lru"};
      CHECK(table.statistics().holds_given_up == (gives_up ? 10 : 0));
      CHECK(table.statistics().in_place_rows == (gives_up ? 0 : 20));
      table.reset_statistics();
      CHECK(same_bits(gather(table, held), plain.gather(held)));
      CHECK((table.statistics().waited == 0) == !gives_up);
      CHECK(same_bits(all_rows(table), plain.values()));
      table.check_invariants();
    }
  }
}

TEST_CASE("the rows of an open batch are kept from gather to update, and let go on every exit") {
  Rig rig{Kind::Rows};
  auto table = rig.table(1000, 4, 20);
  const auto ids = range(0, 20), next = range(100, 120);
  std::vector<float> out(80);
  try {
    auto batch = table.batch(ids);
    batch.gather(out);
    table.prefetch(next);
    table.settle();
    CHECK(table.statistics().prefetched_rows == 0);
    const auto missed = table.statistics().missed_rows;
    batch.update(out, Sgd{});
    CHECK(table.statistics().missed_rows == missed);
    throw std::runtime_error{"in the middle of a step"};
  } catch (const std::runtime_error&) {
  }
  table.settle();
  CHECK(table.statistics().prefetched_rows == 20);
}

TEST_CASE("a forward pass without a backward one leaves nothing behind") {
  Rig rig{Kind::Blocks};
  auto table = rig.table(1000, 100, 20);
  for (RowId i = 0; i < 400; ++i) {
    const auto ids = range(i, i + 10);
    std::vector<float> out(1000);
    auto batch = table.batch(ids);
    batch.gather(out);
  }
  table.check_invariants();
}

TEST_CASE("a batch larger than the cache goes through, forwards and backwards") {
  for (const auto kind : {Kind::Rows, Kind::Blocks}) {
    for (const auto* policy : row_policies) {
      for (const std::uint64_t slots : {1, 7, 100}) {
        Rig rig{kind};
        auto table = rig.table(2000, 100, slots, policy);
        PlainTable plain{2000, 100};
        std::vector<RowId> ids = range(0, 1500);
        ids.insert(ids.end(), ids.begin(), ids.begin() + 100);
        table.prefetch(ids);
        auto batch = table.batch(ids);
        std::vector<float> out(ids.size() * 100);
        batch.gather(out);
        CHECK(same_bits(out, plain.gather(ids)));
        batch.update(out, Sgd{0.1F});
        plain.update(ids, out, Sgd{0.1F});
        batch.gather(out);
        CHECK(same_bits(out, plain.gather(ids)));
      }
    }
  }
}

TEST_CASE("any number of announcements can be made: those beyond what is kept are dropped and counted") {
  Rig rig{Kind::Rows};
  auto table = rig.table(1000, 4, 20);
  std::vector<BatchId> batches;
  for (RowId i = 0; i < 300; ++i) batches.push_back(table.prefetch(range(i, i + 3)));
  CHECK(table.statistics().hints_dropped == 300 - max_open_batches);
  CHECK(!batches.back());
  for (const auto batch : batches) table.cancel(batch);
  CHECK(table.announce(range(0, 3)));
}

TEST_CASE("hints on a whole table are taken and need nothing") {
  Rig rig{Kind::Whole};
  auto table = rig.table(100, 4, 100);
  const auto batch = table.prefetch(range(0, 10));
  CHECK(!batch);
  table.cancel(batch);
  CHECK(gather(table, range(0, 10)).size() == 40);
}

TEST_CASE("a gather joins the fetch of a row that is on its way") {
  Rig rig{Kind::Rows};
  auto table = rig.table(1000, 4, 20);
  const PlainTable plain{1000, 4};
  Gate gate{*rig.slow, Direction::Read};
  table.prefetch(range(0, 10));
  gate.wait_until_reached();
  auto gathered = std::async(std::launch::async, [&] { return gather(table, range(5, 15)); });
  gate.open();
  CHECK(same_bits(gathered.get(), plain.gather(range(5, 15))));
  table.settle();
  CHECK(table.statistics().prefetched_rows + table.statistics().missed_rows == 15);  // no row twice
}

TEST_CASE("a row that is on its way when it is asked for is late, though somebody else fetches it") {
  for (const std::string policy : {"lru", "hint_aware"}) {
    CAPTURE(policy);
    Rig rig{Kind::Rows};
    auto table = rig.table(1000, 4, 20, policy);
    std::latch prefetching{1}, gathering{1};
    rig.slow->fails = [&, reads = std::make_shared<std::atomic<int>>(0)](auto, auto, auto) {
      const auto earlier = reads->fetch_add(1);
      if (earlier == 0) {
        prefetching.count_down();
        gathering.wait();
      } else if (earlier == 1) {
        gathering.count_down();  // it gathers row 10, and has found 5 in flight
      }
      return std::error_code{};
    };
    table.prefetch(std::vector<RowId>{5});
    prefetching.wait();
    gather(table, {10, 5});
    CHECK(table.statistics().waited == 2);
    CHECK(table.statistics().missed_rows == 1);
  }
}

TEST_CASE("a dirty row that is leaving can be read, and an update of it waits and is not lost") {
  Rig rig{Kind::Rows};
  auto table = rig.table(1000, 4, 10);
  PlainTable plain{1000, 4};
  const auto ids = range(0, 10);
  const std::vector<float> gradients(40, 1.0F);
  table.update(ids, gradients, Sgd{});
  plain.update(ids, gradients, Sgd{});
  Gate gate{*rig.slow, Direction::Write};
  table.prefetch(range(100, 110));  // all ten slots must be freed
  gate.wait_until_reached();
  CHECK(same_bits(gather(table, ids), plain.gather(ids)));
  CHECK(table.statistics().waited == 0);
  auto updated = std::async(std::launch::async, [&] { table.update(ids, gradients, Sgd{}); });
  gate.open();
  updated.get();
  plain.update(ids, gradients, Sgd{});
  CHECK(same_bits(all_rows(table), plain.values()));
}

TEST_CASE("a batch can be gathered, cancelled, or its table go, while its prefetch is under way") {
  Rig rig{Kind::Rows};
  Gate gate{*rig.slow, Direction::Read};  // the prefetch may reach it until the table has ended
  {
    auto table = rig.table(1000, 4, 20);
    const PlainTable plain{1000, 4};
    const auto batch = table.prefetch(range(0, 10));
    gate.wait_until_reached();
    SUBCASE("gathered") {
      auto gathered = std::async(std::launch::async, [&] { return gather(table, range(0, 10)); });
      gate.open();
      CHECK(same_bits(gathered.get(), plain.gather(range(0, 10))));
      table.settle();
      table.check_invariants();
    }
    SUBCASE("cancelled") {
      table.cancel(batch);
      gate.open();
      table.settle();
      table.check_invariants();
    }
    SUBCASE("its table goes") { gate.open(); }
  }
  rig.slow->fails = nullptr;
}

}  // namespace tier::batch_test
