// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rig.hpp"
#include "support/message_of.hpp"
#include "support/seed.hpp"

#include <tier/core/error.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "table/rows/row_layout.hpp"

namespace tier::row_table_test {

using namespace tier::test;

namespace {

std::vector<RowId> range(RowId first, RowId last) {
  std::vector<RowId> ids(last - first);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a gather returns the rows of its ids in their order, wherever they are") {
  for (const auto kind : {Kind::Whole, Kind::Rows, Kind::Blocks}) {
    CAPTURE(static_cast<int>(kind));
    Rig rig{kind};
    auto table = rig.table(500, 16, 50);
    const PlainTable plain{500, 16};
    const std::vector<RowId> ids{499, 0, 7, 7, 250, 0};
    CHECK(same_bits(gather(table, ids), plain.gather(ids)));
    CHECK(same_bits(gather(table, ids), plain.gather(ids)));
    CHECK(gather(table, {}).empty());
    CHECK(table.is_whole() == (kind == Kind::Whole));
    table.check_invariants();
  }
}

TEST_CASE("a pooled gather sums each bag from zero in the order of the ids, and an empty bag is zeros") {
  for (const auto kind : {Kind::Whole, Kind::Rows, Kind::Blocks}) {
    for (const auto policy : {"hint_aware", "lru"}) {
      Rig rig{kind};
      auto table = rig.table(500, 19, 20, policy);
      const PlainTable plain{500, 19};
      const auto ids = range(100, 160);
      const std::vector<std::uint32_t> offsets{0, 0, 1, 41, 41, 60, 60};
      std::vector<float> out(6 * 19, 5.0F);
      table.gather_pooled(ids, offsets, out);
      CHECK(same_bits(out, plain.pooled(ids, offsets)));

      SUBCASE("with a stride, what lies between the bags is left alone") {
        std::vector<float> wide(6 * 24, 5.0F);
        table.gather_pooled(ids, offsets, wide, 24);
        for (std::size_t bag = 0; bag < 6; ++bag)
          for (std::size_t i = 0; i < 24; ++i)
            CHECK(wide[bag * 24 + i] == (i < 19 ? out[bag * 19 + i] : 5.0F));
      }
    }
  }
}

TEST_CASE("an update changes each row of a batch once, by its gradients summed in the order of the ids") {
  for (const auto kind : {Kind::Whole, Kind::Rows, Kind::Blocks}) {
    CAPTURE(static_cast<int>(kind));
    Rig rig{kind};
    auto table = rig.table(500, 16, 50);
    PlainTable plain{500, 16};
    const std::vector<RowId> ids{3, 400, 3, 4, 3, 400};
    std::vector<float> gradients(ids.size() * 16);
    for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = 1e-3F * static_cast<float>(i * i) - 1;
    for (int repeat = 0; repeat < 3; ++repeat) {
      auto batch = table.batch(ids);
      std::vector<float> out(ids.size() * 16);
      batch.gather(out);
      CHECK(same_bits(out, plain.gather(ids)));
      batch.update(gradients, RowWiseAdagrad{0.1F});
      plain.update(ids, gradients, RowWiseAdagrad{0.1F});
    }
    CHECK(same_bits(all_rows(table), plain.values()));
    CHECK(same_bits(all_states(table), plain.states()));
  }
}

TEST_CASE("a pooled update gives every row of a bag the gradient of the bag") {
  for (const auto kind : {Kind::Whole, Kind::Rows, Kind::Blocks}) {
    Rig rig{kind};
    auto table = rig.table(100, 8, 10);
    PlainTable plain{100, 8};
    const std::vector<RowId> ids{5, 6, 5, 5, 99};
    const std::vector<std::uint32_t> offsets{0, 2, 2, 5};
    std::vector<float> of_bags(3 * 11), of_ids;
    for (std::size_t i = 0; i < of_bags.size(); ++i) of_bags[i] = static_cast<float>(i) / 7;
    for (const std::size_t bag : {0, 0, 2, 2, 2})
      of_ids.insert(of_ids.end(), &of_bags[bag * 11], &of_bags[bag * 11] + 8);
    table.batch(ids).update_pooled(offsets, of_bags, Sgd{0.3F}, 11);
    plain.update(ids, of_ids, Sgd{0.3F});
    CHECK(same_bits(all_rows(table), plain.values()));
  }
}

TEST_CASE("after a scatter the last row given for an id is there, and its state is as it was") {
  for (const auto kind : {Kind::Whole, Kind::Rows, Kind::Blocks}) {
    Rig rig{kind};
    auto table = rig.table(100, 8, 10);
    PlainTable plain{100, 8};
    const std::vector<RowId> ids{5, 6, 5};
    const std::vector<float> gradients(ids.size() * 8, 2.0F);
    table.update(ids, gradients, RowWiseAdagrad{});
    plain.update(ids, gradients, RowWiseAdagrad{});
    std::vector<float> rows(ids.size() * 8);
    std::iota(rows.begin(), rows.end(), 0.5F);
    table.scatter(ids, rows);
    plain.scatter(ids, rows);
    CHECK(same_bits(all_rows(table), plain.values()));
    CHECK(same_bits(all_states(table), plain.states()));
  }
}

TEST_CASE("results are the same bits for every kind of table and every number of threads") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::vector<std::vector<float>> ends;
  for (const auto kind : {Kind::Whole, Kind::Rows, Kind::Blocks, Kind::Direct}) {
    for (const unsigned threads : {1U, 2U, 3U}) {
      Rig rig{kind, threads};
      auto table = rig.table(2000, 12, 300, kind == Kind::Direct ? "lfu" : "hint_aware");
      std::mt19937_64 random{seed};
      std::vector<float> losses;
      for (int step = 0; step < 3; ++step) {
        std::vector<RowId> ids(3600);
        for (auto& id : ids) id = static_cast<RowId>(random() % (1 + random() % 2000));
        std::vector<std::uint32_t> offsets;
        for (std::uint32_t at = 0; at <= ids.size(); at += 3) offsets.push_back(at);
        auto batch = table.batch(ids);
        std::vector<float> sums(1200 * 12);
        batch.gather_pooled(offsets, sums);
        batch.update_pooled(offsets, std::span<const float>{sums}, RowWiseAdagrad{});
        losses.push_back(std::accumulate(sums.begin(), sums.end(), 0.0F));
        table.settle();  // rows used in place may have slots by the next step
      }
      if (kind == Kind::Direct) CHECK(table.statistics().in_place_bytes != 0);
      auto end = all_rows(table);
      const auto states = all_states(table);
      end.insert(end.end(), states.begin(), states.end());
      end.insert(end.end(), losses.begin(), losses.end());
      ends.push_back(std::move(end));
    }
  }
  for (const auto& end : ends) CHECK(same_bits(end, ends.front()));
}

TEST_CASE("bags may be far more than ids, most of them empty, where several threads gather") {
  constexpr std::uint32_t rows = 4096, bags = 100'000, empty = 60'000;
  for (const auto kind : {Kind::Whole, Kind::Rows, Kind::Blocks, Kind::Direct}) {
    Rig rig{kind, 3};
    auto table = rig.table(rows, 4, 64, kind == Kind::Direct ? "lfu" : "hint_aware");
    std::vector<RowId> ids(rows);
    std::iota(ids.begin(), ids.end(), RowId{0});
    std::vector<float> values(std::size_t{rows} * 4);
    std::iota(values.begin(), values.end(), 1.0F);
    table.scatter(ids, values);
    std::vector<std::uint32_t> offsets(bags + 1);
    for (std::uint32_t i = 0; i <= bags; ++i) offsets[i] = i < empty ? 0 : std::min(i - empty, rows);
    std::vector<float> sums(std::size_t{bags} * 4, -1), expected(std::size_t{bags} * 4);
    std::ranges::copy(values, expected.begin() + std::ptrdiff_t{empty} * 4);
    table.gather_pooled(ids, offsets, sums);
    CHECK(same_bits(sums, expected));
  }
}

TEST_CASE("a row corrupted in the slow tier is noticed: results do come from there") {
  for (const auto kind : {Kind::Rows, Kind::Blocks}) {
    Rig rig{kind};
    auto table = rig.table(500, 16, 20);
    const auto before = all_rows(table);
    for (std::size_t i = 0; i < (32U << 20U); i += 512) rig.slow->contents()[i] ^= std::byte{1};
    CHECK(!same_bits(all_rows(table), before));
  }
}

TEST_CASE("an id out of range is named with its table and bound, before anything changes") {
  for (const auto kind : {Kind::Whole, Kind::Rows, Kind::Blocks}) {
    Rig rig{kind};
    auto table = rig.table(100, 4, 10);
    const auto before = all_rows(table);
    const std::vector<RowId> ids{1, 2, 100};
    std::vector<float> values(3 * 4, 9.0F);
    const auto check = [](const std::string& message) {
      CHECK(contains(message, "table 'clicks'"));
      CHECK(contains(message, "id 100 at position 2"));
      CHECK(contains(message, "100 rows"));
    };
    check(test::message_of<std::out_of_range>([&] { table.gather(ids, values); }));
    check(test::message_of<std::out_of_range>([&] { table.scatter(ids, values); }));
    check(test::message_of<std::out_of_range>([&] { table.update(ids, values, Sgd{}); }));
    check(test::message_of<std::out_of_range>([&] { std::ignore = table.batch(ids); }));
    check(test::message_of<std::out_of_range>([&] { std::ignore = table.announce(ids); }));
    check(test::message_of<std::out_of_range>([&] { table.prefetch(ids); }));
    CHECK(values == std::vector<float>(12, 9.0F));
    CHECK(same_bits(all_rows(table), before));
    std::vector<float> two(8);
    CHECK(contains(test::message_of<std::out_of_range>([&] { table.read_rows(99, two); }), "rows 99 to 100"));
    table.check_invariants();
  }
}

TEST_CASE("an id out of range is found wherever it is among how many") {
  Rig rig{Kind::Whole};
  auto table = rig.table(100, 1, 10);
  for (std::size_t count = 1; count <= 40; ++count) {
    std::vector<RowId> ids(count, 99);
    std::vector<float> values(count);
    CHECK_NOTHROW(table.gather(ids, values));
    for (const RowId bad : {RowId{100}, RowId{1} << 31, ~RowId{0}})
      for (std::size_t at = 0; at < count; ++at) {
        ids[at] = bad;
        CHECK(contains(test::message_of<std::out_of_range>([&] { table.gather(ids, values); }),
                       "id " + std::to_string(bad) + " at position " + std::to_string(at) + " "));
        ids[at] = 0;
      }
  }
}

TEST_CASE("options that no table can have are refused with what is wrong") {
  Rig rig{Kind::Rows};
  const auto refusal = [&](auto change) {
    return test::message_of<ConfigError>([&] {
      auto options = rig.options(100, 4, 10);
      change(options);
      RowTable<float>{rig.context, std::move(options)};
    });
  };
  CHECK(contains(refusal([](TableOptions& o) { o.rows = 0; }), "table 'clicks': it has no rows"));
  CHECK(contains(refusal([](TableOptions& o) { o.dim = 0; }), "no columns (dim = 0)"));
  CHECK(contains(refusal([](TableOptions& o) { o.dim = std::size_t{1} << 61; }),
                 "2305843009213693952 columns; at most 268435456 are possible"));
  CHECK(
      contains(refusal([](TableOptions& o) { o.state_columns = std::size_t{1} << 62; }), "columns; at most"));
  CHECK(contains(refusal([](TableOptions& o) { o.rows = std::uint64_t{1} << 32; }),
                 "4294967296 rows; at most"));
  CHECK(contains(refusal([](TableOptions& o) { o.budget = 1_MiB; }), "only one of"));
  CHECK(contains(refusal([](TableOptions& o) { o.slots = 0; }), "0 slots"));
  CHECK(contains(refusal([](TableOptions& o) { o.policy = nullptr; }), "no row policy"));
  CHECK(contains(refusal([](TableOptions& o) { o.slow = 2; }), "tier 2; allowed: 1 to 1"));
  CHECK(contains(refusal([](TableOptions& o) { o.slots.reset(), o.share = 1.5; }), "share"));
  const auto small = refusal([](TableOptions& o) { o.slots.reset(), o.budget = 100_B; });
  CHECK(contains(small, "a budget of 100 is below the"));
  CHECK(contains(small, "staging"));

  std::vector<std::unique_ptr<Tier>> tiers;
  tiers.push_back(
      std::make_unique<MemoryTier>(MemoryTierOptions{"only", 1_MiB, std::chrono::nanoseconds{10}, true}));
  const auto manager =
      Manager::make(std::move(tiers), std::make_unique<FetchingPolicy>(), {.threads = 1, .yields = false});
  CHECK(contains(test::message_of<ConfigError>([&] {
                   RowTable<float>{manager, rig.options(100, 4, 10)};
                 }),
                 "there is no slower tier"));
}

TEST_CASE(
    "a budget holds the slots and all that goes with them, and the smallest one accepted is what is said") {
  for (const auto kind : {Kind::Rows, Kind::Blocks}) {
    Rig rig{kind};
    auto options = [&](Bytes budget) {
      auto made = rig.options(5000, 16, 0);
      made.slots.reset();
      made.budget = budget;
      return made;
    };
    const auto bytes = bytes_needed(*rig.manager, options(1_MiB));
    CHECK_THROWS_AS((RowTable<float>{rig.context, options({bytes.minimum.count - 1})}), ConfigError);
    for (const auto budget : {bytes.minimum, 64_KiB, 100_KiB, Bytes{bytes.whole.count - 1}}) {
      const auto used = rig.manager->statistics().tiers[0].used;
      RowTable<float> table{rig.context, options(budget)};
      CHECK(!table.is_whole());
      CHECK(table.fast_bytes() <= budget);
      CHECK(rig.manager->statistics().tiers[0].used <= used + budget + 4_KiB);
      CHECK(gather(table, {1, 4999, 2500}).size() == 48);
    }
    CHECK(RowTable<float>{rig.context, options(bytes.whole)}.is_whole());
  }
}

TEST_CASE("without a budget a table takes what the fastest tier has free, or a share of it") {
  Rig rig{Kind::Rows};
  auto options = rig.options(1000, 16, 0);
  options.slots.reset();
  CHECK(RowTable<float>{rig.context, std::move(options)}.is_whole());
  auto part = rig.options(100'000, 16, 0);
  part.slots.reset();
  part.share = 0.1;
  RowTable<float> table{rig.context, std::move(part)};
  CHECK(!table.is_whole());
  CHECK(table.fast_bytes() <= Bytes{(16U << 20U) / 10});
  CHECK(table.fast_bytes() >= Bytes{(16U << 20U) / 11});
}

TEST_CASE("a slot map takes 4 bytes a row, and a slot at most 32 beside its row") {
  const MemoryTier device{{.capacity = 1_MiB, .addressable = false}};  // blocks of 512 bytes
  for (const auto* name : row_policies) {
    const auto policy = row_policy(name);
    TableOptions options;
    options.rows = 1'000'000;
    for (options.dim = 1; options.dim <= 64; options.dim *= 4) {
      for (const auto& layout : {detail::row_layout(options), detail::row_layout(options, device)}) {
        for (const RowId cached : {1U, 1000U, 100'000U}) {
          const auto shape = detail::CacheShape::of_slots(layout, cached, policy->bytes_per_slot());
          const auto slots = shape.slots + shape.staging;
          const auto buffers = shape.buffers * layout.block_bytes;
          CHECK(shape.bytes(layout) <=
                4 * options.rows + slots * (layout.use.bytes_per_row() + 32) + 64 + buffers);
          if (shape.buffers > 1) CHECK(4 * buffers <= cached * layout.use.bytes_per_row());
        }
      }
    }
  }
}

TEST_CASE("a cache as large as its table is the table") {
  Rig rig{Kind::Rows};
  CHECK(rig.table(100, 4, 100).is_whole());
  CHECK(rig.table(100, 4, 1000).is_whole());
  CHECK(!rig.table(100, 4, 99).is_whole());
}

TEST_CASE("rows and their state end in the slow tier together, once the table is flushed") {
  Rig rig{Kind::Rows};
  auto table = rig.table(100, 4, 20);
  const auto ids = range(0, 10);
  table.update(ids, std::vector<float>(40, 1.0F), RowWiseAdagrad{});
  CHECK(table.statistics().written_rows == 0);
  table.flush();
  CHECK(table.statistics().written_rows == 10);
  CHECK(table.statistics().bytes_out == 10 * 20);
  table.flush();
  CHECK(table.statistics().written_rows == 10);  // dirty rows alone
}

TEST_CASE("a row that cannot be read is named, and read again when it can be") {
  for (const auto kind : {Kind::Rows, Kind::Blocks}) {
    for (const auto policy : {"hint_aware", "first_touch"}) {
      Rig rig{kind};
      auto table = rig.table(1000, 32, 50, policy, 0);
      const PlainTable plain{1000, 32};
      std::atomic<bool> broken{true};
      rig.slow->fails = [&](Direction direction, std::uint64_t, std::uint64_t) {
        return broken && direction == Direction::Read ? std::make_error_code(std::errc::io_error)
                                                      : std::error_code{};
      };
      const auto message = test::message_of<TierError>([&] { gather(table, {700}); });
      CHECK(contains(message, "table 'clicks' row 700"));
      CHECK(contains(message, "tier slow"));
      std::vector<float> out(32);
      CHECK_THROWS_AS(table.read_rows(700, out), TierError);
      CHECK_THROWS_AS(table.update(std::vector<RowId>{700}, out, Sgd{}), TierError);
      table.check_invariants();
      CHECK(table.statistics().read_errors >= 3);
      broken = false;
      CHECK(same_bits(gather(table, {700}), plain.gather({700})));
    }
  }
}

TEST_CASE("a row that cannot be written back stays, is served, and is written when that works again") {
  for (const auto kind : {Kind::Rows, Kind::Blocks}) {
    Rig rig{kind};
    auto table = rig.table(1000, 100, 10, "lru");
    PlainTable plain{1000, 100};
    const auto dirty = range(0, 10);
    const std::vector<float> gradients(1000, 1.0F);
    table.update(dirty, gradients, Sgd{});
    plain.update(dirty, gradients, Sgd{});
    std::atomic<bool> broken{true};
    rig.slow->fails = [&](Direction direction, std::uint64_t, std::uint64_t) {
      return broken && direction == Direction::Write ? std::make_error_code(std::errc::no_space_on_device)
                                                     : std::error_code{};
    };
    CHECK(same_bits(gather(table, range(500, 520)), plain.gather(range(500, 520))));
    CHECK(same_bits(gather(table, dirty), plain.gather(dirty)));
    CHECK(table.statistics().write_errors > 0);
    CHECK_THROWS_AS(table.flush(), TierError);
    CHECK(same_bits(all_rows(table), plain.values()));

    // All slots hold rows that cannot be written back, so an update finds no room; it throws and changes nothing.
    try {
      table.update(range(600, 640), std::vector<float>(4000, 1.0F), Sgd{});
      CHECK(false);
    } catch (const OutOfTierMemory& error) {
      CHECK(error.cause() == std::errc::no_space_on_device);
      CHECK(contains(error.what(), "table 'clicks'"));
    }
    broken = false;
    table.flush();
    table.check_invariants();
    CHECK(same_bits(gather(table, dirty), plain.gather(dirty)));
    table.update(dirty, gradients, Sgd{});
    plain.update(dirty, gradients, Sgd{});
    CHECK(same_bits(gather(table, dirty), plain.gather(dirty)));
  }
}

TEST_CASE("first contents that cannot be written are an error of the constructor, and leave no room taken") {
  Rig rig{Kind::Rows};
  const auto used = [&] {
    const auto statistics = rig.manager->statistics();
    return statistics.tiers[0].used + statistics.tiers[1].used;
  };
  const auto before = used();
  rig.slow->fails = [](Direction, std::uint64_t, std::uint64_t) {
    return std::make_error_code(std::errc::io_error);
  };
  CHECK(
      contains(test::message_of<TierError>([&] { std::ignore = rig.table(100, 4, 10); }), "first contents"));
  CHECK(used() == before);
}

TEST_CASE("what moved is told to the manager, with its reason") {
  Rig rig{Kind::Rows};
  auto table = rig.table(100, 4, 10, "hint_aware", 0);
  const auto ids = range(0, 10);
  table.prefetch(table.announce(ids));
  table.settle();
  gather(table, ids);
  table.update(ids, std::vector<float>(40, 1.0F), Sgd{});
  gather(table, range(50, 60));
  const auto statistics = rig.manager->statistics();
  const auto moved = [&](TierIndex from, Cause cause) {
    std::uint64_t bytes = 0;
    for (const auto& m : statistics.moved) bytes += m.from == from && m.cause == cause ? m.bytes : 0;
    return bytes;
  };
  CHECK(moved(1, Cause::Hint) == 10 * 16);
  CHECK(moved(1, Cause::Miss) == 10 * 16);
  CHECK(moved(0, Cause::Evict) == 10 * 16);
  CHECK(statistics.stalls > 0);
  CHECK(table.statistics().bytes_in == 20 * 16);
}

TEST_CASE("the fast share counts prefetched rows as fetched, the on-time share as there") {
  Rig rig{Kind::Rows};
  auto table = rig.table(100, 4, 20);
  std::vector<RowId> ids = range(0, 10);
  ids.insert(ids.end(), ids.begin(), ids.end());  // each row twice
  table.prefetch(ids);
  table.settle();
  gather(table, ids);
  auto statistics = table.statistics();
  CHECK(statistics.asked == 20);
  CHECK(statistics.prefetched_rows == 10);
  CHECK(statistics.fast_share() == doctest::Approx(0.5));
  CHECK(statistics.on_time_share() == doctest::Approx(1));
  gather(table, {50, 0, 1, 2});
  statistics = table.statistics();
  CHECK(statistics.waited == 1);
  CHECK(statistics.hits == 23);
  CHECK(statistics.missed_rows == 1);
  CHECK(statistics.on_time_share() == doctest::Approx(23.0 / 24));
  table.update(std::vector<RowId>{0, 1, 2, 0}, std::vector<float>(4 * 4, 1.0F), Sgd{});
  statistics = table.statistics();
  CHECK(statistics.updated == 4);
  CHECK(statistics.missed_rows == 1);
  CHECK(statistics.fast_share() == doctest::Approx(1 - 11.0 / 28));
  table.reset_statistics();
  CHECK(table.statistics().asked == 0);
  CHECK(table.statistics().updated == 0);
}

TEST_CASE("a row is late once, and only if it was not there, under every policy and also as part of a bag") {
  for (const auto kind : {Kind::Rows, Kind::Blocks}) {
    for (const std::string policy : row_policies) {
      CAPTURE(policy);
      Rig rig{kind};
      auto table = rig.table(1000, 100, 4, policy);  // a block holds one row
      gather(table, range(0, 4));
      table.reset_statistics();
      std::vector<float> out(2 * 100);
      table.gather_pooled({{3, 0, 1, 2, 500, 500}}, {{0, 5, 6}}, out);
      CHECK(table.statistics().waited == 2);
      table.reset_statistics();
      gather(table, range(100, 120));
      CHECK(table.statistics().waited == 20);
      CHECK(table.statistics().hits == 0);
      CHECK(table.statistics().on_time_share() == 0);
    }
  }
}

}  // namespace tier::row_table_test
