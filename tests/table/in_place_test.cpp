// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The cost of rows that are used in place in an emulated slow tier.
#include "rig.hpp"
#include "support/charging_tier.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

namespace tier::in_place_test {

using namespace tier::test;

namespace {

constexpr std::size_t dim = 63;
constexpr std::uint64_t row_bytes = 64 * sizeof(float);  // with the state beside the values

struct ChargingRig {
  explicit ChargingRig(Kind kind = Kind::Rows)
      : rig{kind, 2, [&](MemoryTierOptions options) {
              auto tier = std::make_unique<ChargingTier>(std::move(options));
              slow = tier.get();
              return tier;
            }} {}
  ChargingTier* slow = nullptr;
  Rig rig;
};

}  // namespace

TEST_CASE("rows read in place in an emulated tier are charged one by one, those in slots not at all") {
  ChargingRig charging;
  auto table = charging.rig.table(1000, dim, 4, "first_touch");
  gather(table, {0, 1, 2, 3});  // take the slots, and never leave
  CHECK(charging.slow->take() == Charged{});
  gather(table, {2, 100, 3, 200, 300});
  CHECK(charging.slow->take() == Charged{3 * row_bytes, 3, 0, 0});
  gather(table, {0, 1, 2, 3});
  CHECK(charging.slow->take() == Charged{});
  std::vector<float> out(2 * dim);
  table.gather_pooled({{100, 200, 0, 300}}, {{0, 2, 4}}, out);
  CHECK(charging.slow->take() == Charged{3 * row_bytes, 3, 0, 0});
}

TEST_CASE(
    "rows used where they live are charged, read and written at once; the log brings those that are "
    "admitted") {
  ChargingRig charging{Kind::Direct};
  auto table = charging.rig.table(1000, dim, 4, "first_touch");
  PlainTable plain{1000, dim};
  CHECK(same_bits(gather(table, {0, 1, 2, 3}), plain.gather({0, 1, 2, 3})));
  CHECK(charging.slow->take() == Charged{4 * row_bytes, 4, 0, 0});
  table.settle();
  CHECK(charging.slow->take() == Charged{});  // a transfer waits by itself
  gather(table, {2, 100, 3, 200, 300});
  CHECK(charging.slow->take() == Charged{3 * row_bytes, 3, 0, 0});
  const std::vector<float> gradients(3 * dim, 1.0F);
  table.update({{0, 100, 200}}, gradients, Sgd{});
  plain.update({0, 100, 200}, gradients, Sgd{});
  CHECK(charging.slow->take() == Charged{2 * row_bytes, 2, 2 * row_bytes, 2});
  CHECK(same_bits(gather(table, {0, 100, 200, 5}), plain.gather({0, 100, 200, 5})));
  const auto statistics = table.statistics();
  CHECK(statistics.in_place_rows == 12);  // those of the update, too
  CHECK(statistics.in_place_bytes == 12 * row_bytes);
  CHECK(statistics.prefetched_rows == 4);
  CHECK(statistics.written_rows == 0);
  table.flush();
  CHECK(table.statistics().written_rows == 1);  // the row that was written in a slot
  table.check_invariants();
}

TEST_CASE("rows that are used in place come in the background, unless it has to rest") {
  using std::chrono::steady_clock;
  for (const bool rests : {false, true}) {
    CAPTURE(rests);
    const Rig rig{Kind::Direct};
    auto table = rig.table(1000, 4, 100, "first_touch");
    auto& context = *rig.context;
    CHECK(context.is_rested());
    if (rests) context.rest_for(std::chrono::hours{1});
    CHECK(context.is_rested() == !rests);
    std::vector<RowId> ids(94);  // as many as the log holds
    for (RowId i = 0; i < ids.size(); ++i) ids[i] = i;
    gather(table, ids);
    if (rests) {
      CHECK(table.statistics().prefetched_rows == 0);
      context.rest_for(std::chrono::hours{1});  // extends the rest
      context.count_use(std::chrono::hours{2} - std::chrono::minutes{1});
      CHECK(!context.is_rested());
      context.count_use(std::chrono::minutes{1});
      CHECK(context.is_rested());
      table.settle();  // does the work itself
    } else {
      const auto patience = steady_clock::now() + std::chrono::minutes{1};
      while (table.statistics().prefetched_rows < ids.size() && steady_clock::now() < patience)
        std::this_thread::yield();
    }
    CHECK(table.statistics().prefetched_rows == ids.size());
    CHECK(table.statistics().bytes_in == ids.size() * 5 * sizeof(float));
    table.check_invariants();
  }
}

TEST_CASE("a batch updates rows where its gather has found them, or where they have gone since") {
  for (const bool gathers : {true, false}) {
    for (const bool moves : {true, false}) {
      CAPTURE(gathers);
      CAPTURE(moves);
      const Rig rig{Kind::Direct};
      auto table = rig.table(1000, 4, 100, "first_touch");
      PlainTable plain{1000, 4};
      rig.context->rest_for(std::chrono::hours{1});
      std::vector<RowId> ids(94);  // as many as the log holds
      for (RowId i = 0; i < ids.size(); ++i) ids[i] = i * 7 % 50;
      const std::vector<float> gradients(ids.size() * 4, 0.25F);
      std::vector<float> out(gradients.size());
      for (int i = 0; i < 3; ++i) {
        auto batch = table.batch(ids);
        const auto moved = table.statistics().prefetched_rows;
        if (gathers) batch.gather(out);
        if (gathers) CHECK(same_bits(out, plain.gather(ids)));
        if (!gathers) gather(table, ids);
        if (moves) table.settle();
        CHECK((table.statistics().prefetched_rows != moved) == (moves && i == 0));
        for (int twice = 0; twice < 2; ++twice) {
          batch.update(gradients, RowWiseAdagrad{});
          plain.update(ids, gradients, RowWiseAdagrad{});
        }
        CHECK(is(table, plain));
      }
      table.flush();
      CHECK(table.statistics().written_rows == (moves ? 50 : 0));
      CHECK(is(table, plain));
      table.check_invariants();
    }
  }
}

TEST_CASE("a batch whose rows are used in place is not announced: nothing is fetched or kept for it") {
  const Rig rig{Kind::Direct};
  auto table = rig.table(1000, 4, 100, "lfu");
  CHECK(!table.announce({{1, 2}}));
  CHECK(!table.prefetch({{1, 2}}));
  table.cancel({});
  table.settle();
  const auto statistics = table.statistics();
  CHECK(statistics.prefetched_rows == 0);
  CHECK(statistics.hints_dropped == 0);
  CHECK_THROWS_AS(std::ignore = table.announce({{1, 1000}}), std::out_of_range);
}

TEST_CASE("rows updated in an emulated tier go through staging, whose transfers wait by themselves") {
  ChargingRig charging;
  auto table = charging.rig.table(1000, dim, 4, "first_touch");
  PlainTable plain{1000, dim};
  gather(table, {0, 1, 2, 3});
  const auto before = charging.slow->transfers.load();
  const std::vector<float> gradients(2 * dim, 1.0F);
  table.update({{100, 200}}, gradients, Sgd{});
  plain.update({100, 200}, gradients, Sgd{});
  CHECK(charging.slow->transfers - before == 4);
  CHECK(charging.slow->take() == Charged{});
  CHECK(same_bits(gather(table, {100, 200}), plain.gather({100, 200})));
  CHECK(charging.slow->take() == Charged{2 * row_bytes, 2, 0, 0});
}

}  // namespace tier::in_place_test
