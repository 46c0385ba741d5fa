// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tables of rows in replays: they move the same rows as real tables, in the time that the machine file gives.
#include "machines.hpp"
#include "policies.hpp"
#include "support/message_of.hpp"
#include "support/seed.hpp"
#include "support/temporary_directory.hpp"

#include <tier/memory/discovery.hpp>
#include <tier/runtime/row_policies.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/table/row_table.hpp>
#include <tier/tensor/tensor.hpp>
#include <tier/trace/files.hpp>
#include <tier/trace/text.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "replay/cached_rows.hpp"

namespace tier::rows_test {

using namespace tier::test;

namespace {

using Batches = std::vector<std::vector<RowId>>;
constexpr std::size_t dim = 32;
constexpr auto row_bytes = dim * sizeof(float);

/// Returns batches in which a few rows are frequent.
Batches batches_of(std::mt19937_64& random, std::size_t batches, std::size_t ids, RowId rows) {
  Batches all(batches);
  std::uniform_real_distribution<double> uniform;
  for (auto& batch : all)
    for (std::size_t i = 0; i < ids; ++i)
      batch.push_back(std::min(rows - 1, static_cast<RowId>(std::pow(uniform(random), 4) * rows)));
  return all;
}

std::unique_ptr<RowPolicy> row_policy(const std::string& name, std::vector<RowId> future) {
  return name == "belady" ? make_belady_rows(std::move(future)) : make_row_policy(name);
}

std::vector<RowId> all_of(const Batches& batches) {
  std::vector<RowId> all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

struct Moved {
  std::uint64_t read = 0, written = 0;
};

/// Returns the rows that were fetched, and those written back. Every batch is gathered, every second one updated; `ahead`
/// batches are prefetched.
Moved by_a_table(const Batches& batches, const std::string& policy, RowId rows, SlotId slots,
                 std::size_t ahead) {
  RuntimeOptions options;
  options.tiers = {tiers::dram(16_MiB), tiers::emulated("cxl", 64_MiB)};
  options.threads = 1;
  const Runtime runtime{options};
  TableOptions table_options;
  table_options.rows = rows;
  table_options.dim = dim;
  table_options.slots = slots;
  table_options.policy = row_policy(policy, all_of(batches));
  RowTable<float> table{runtime.manager(), std::move(table_options)};
  std::vector<float> out(batches.front().size() * dim);
  std::size_t announced = 0;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    for (; ahead > 0 && announced < std::min(batches.size(), b + ahead + 1); ++announced)
      table.prefetch(batches[announced]);
    table.settle();
    auto batch = table.batch(batches[b]);
    batch.gather(out);
    if (b % 2 == 0)
      batch.update(out, [](std::span<float>, std::span<float>, std::span<const float>) noexcept {});
  }
  const auto counts = table.statistics();
  return {counts.missed_rows + counts.prefetched_rows, counts.written_rows};
}

Moved by_a_replay(const Batches& batches, const std::string& policy, RowId rows, SlotId slots,
                  std::size_t ahead) {
  TableOptions options;
  options.rows = rows;
  options.dim = dim;
  replay::CachedRows table{tier::detail::row_layout(options), slots, row_policy(policy, all_of(batches)),
                           true};
  replay::RowMoves all;
  const auto prefetch = [&] {
    table.prefetch([&](const replay::RowMoves& moves) {
      all += moves;
      return std::uint64_t{0};
    });
  };
  std::size_t announced = 0;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    for (; ahead > 0 && announced < std::min(batches.size(), b + ahead + 1); ++announced)
      table.announce(static_cast<BatchNumber>(announced + 1), batches[announced]);
    prefetch();
    all += table.gather(static_cast<BatchNumber>(b + 1), batches[b]);
    if (b % 2 == 0) all += table.update(batches[b]);
    prefetch();
  }
  return {all.read_rows + all.in_place_rows, all.written_rows};
}

/// Returns a trace with a kernel of 2 ms, then a gather and an update of each batch.
std::string text_of(const Batches& batches, RowId rows, bool updates = true) {
  std::ostringstream text;
  text << "H tmtrace=1\nc rows.1=" << rows << "," << row_bytes << ",items\nT 1 4096 p w\n";
  std::size_t sequence = 0;
  for (const auto& batch : batches) {
    text << "K fc_f f 1e9 R 1 W - U -\n";
    for (const char kind : {'g', 'u'}) {
      if (kind == 'u' && !updates) continue;
      ++sequence;
      text << kind << ' ' << sequence << " items " << batch.size() << ' ' << sequence;
      char separator = ' ';
      for (const auto id : batch) text << std::exchange(separator, ',') << id;
      text << '\n';
    }
  }
  text << "I\n";
  return text.str();
}

trace::Trace trace_of(const std::string& text) {
  std::istringstream in{text};
  return trace::read_text(in);
}

const std::vector<replay::SimulatedTier> two{{"fast", 16_MiB}, {"slow", 64_MiB}};

replay::Options options_of(const std::string& policy, Bytes memory, unsigned lookahead = 0) {
  replay::Options options;
  options.row_policy = [policy](std::vector<RowId> future) { return row_policy(policy, std::move(future)); };
  options.row_memory = memory;
  options.row_lookahead = lookahead;
  return options;
}

replay::Result run(const trace::Trace& trace, const replay::Options& options) {
  return replay::run(trace, small_machine(), two, named("lru"), options);
}

}  // namespace

TEST_CASE("a replay moves the rows that a table moves") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  constexpr RowId rows = 20'000;
  const auto batches = batches_of(random, 60, 256, rows);
  for (const std::string policy : {"lru", "belady", "hint_aware"}) {
    for (const SlotId slots : {600U, 2000U, 9000U}) {
      CAPTURE(policy);
      CAPTURE(slots);
      const auto real = by_a_table(batches, policy, rows, slots, 0);
      const auto replayed = by_a_replay(batches, policy, rows, slots, 0);
      CAPTURE(real.read);
      CAPTURE(replayed.read);
      CAPTURE(real.written);
      CAPTURE(replayed.written);
      REQUIRE(real.read > 0);
      // Hits that `hint_aware` is told of may be dropped, or arrive later.
      const auto is_near = [&](std::uint64_t a, std::uint64_t b) {
        const auto few = policy == "hint_aware" ? 0.02 * static_cast<double>(b) + 2 : 0.0;
        return std::abs(static_cast<double>(a) - static_cast<double>(b)) <= few;
      };
      CHECK(is_near(replayed.read, real.read));
      CHECK(is_near(replayed.written, real.written));
    }
  }
}

TEST_CASE("a replay prefetches the rows that a table prefetches") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  constexpr RowId rows = 20'000;
  const auto batches = batches_of(random, 60, 256, rows);
  for (const SlotId slots : {2000U, 9000U}) {
    CAPTURE(slots);
    const auto real = by_a_table(batches, "hint_aware", rows, slots, 3);
    const auto replayed = by_a_replay(batches, "hint_aware", rows, slots, 3);
    CHECK(static_cast<double>(replayed.read) ==
          doctest::Approx(static_cast<double>(real.read)).epsilon(0.02));
    CHECK(static_cast<double>(replayed.written) ==
          doctest::Approx(static_cast<double>(real.written)).epsilon(0.05));
  }
}

TEST_CASE("an update that nothing was gathered for, as a scatter is one, ends no batch that is announced") {
  TableOptions options;
  options.rows = 100;
  options.dim = dim;
  replay::CachedRows table{tier::detail::row_layout(options), 8, row_policy("hint_aware", {}), true};
  const auto prefetch = [&] { table.prefetch([](const replay::RowMoves&) { return std::uint64_t{0}; }); };
  using Ids = std::vector<RowId>;
  for (int i = 0; i < 3; ++i) std::ignore = table.update(Ids{0});
  table.announce(1, Ids{1, 2});
  table.announce(2, Ids{3, 4});
  prefetch();
  std::ignore = table.gather(1, Ids{1, 2});
  std::ignore = table.update(Ids{1, 2});
  table.announce(3, Ids{10, 11, 12, 13, 14, 15, 16, 17});
  prefetch();
  CHECK(table.gather(2, Ids{3, 4}).hits == 2);
}

TEST_CASE("rows take the time that the machine says") {
  const auto trace = trace_of(text_of({{7, 8, 9, 7}}, 20'000));
  replay::Options options;
  options.passes = 1;
  const auto without = run(trace, options);
  CHECK_FALSE(without.rows.has_value());

  auto with = options_of("lru", 1_MiB);
  with.passes = 1;
  const auto cold = run(trace, with);
  REQUIRE(cold.rows.has_value());
  CHECK(cold.rows->asked == 4);
  CHECK(cold.rows->hits == 1);
  CHECK(cold.rows->read == 3);
  CHECK(cold.rows->written == 0);
  // 128 B at a mover's 0.5 GB/s and 1 us for each of three rows; four rows are looked up, 10 ns each, and three are
  // updated, 50 ns each.
  CHECK(cold.rows->waiting == doctest::Approx(3 * (256 + 1000) * 1e-9));
  CHECK(cold.seconds == doctest::Approx(without.seconds + cold.rows->waiting + 190e-9).epsilon(1e-9));
  CHECK(cold.waiting == doctest::Approx(cold.rows->waiting));
  CHECK(cold.traffic[1].read - without.traffic[1].read == 3 * row_bytes);

  with = options_of("first_touch", 1_MiB);
  with.passes = 1;
  const auto in_place = run(trace, with);
  CHECK(in_place.rows->waiting == 0);
  CHECK(in_place.rows->in_place == 3);
  // 128 B at 1 GB/s rather than at 10: 115.2 ns more for each.
  CHECK(in_place.seconds == doctest::Approx(without.seconds + (3 * 115.2 + 190) * 1e-9).epsilon(1e-3));

  with = options_of("lru", 4_MiB);  // whole
  with.passes = 1;
  const auto whole = run(trace, with);
  CHECK(whole.rows->hits == 4);
  CHECK(whole.rows->read == 0);
  CHECK(whole.seconds == without.seconds);
}

TEST_CASE("work on rows is slowed, as kernels are, while others are fetched ahead") {
  Batches batches(2);
  for (RowId row = 0; row < 100; ++row) batches[0].push_back(row);
  for (RowId row = 1000; row < 1500; ++row) batches[1].push_back(row);
  const auto trace = trace_of(text_of(batches, 20'000));
  auto options = options_of("hint_aware", 1_MiB, 1);
  options.passes = 1;
  const auto seconds = [&](std::chrono::nanoseconds update, double lost) {
    auto machine = small_machine();
    machine.row_update = update;
    machine.lost_to_mover = lost;
    return replay::run(trace, machine, two, named("lru"), options).seconds;
  };
  const auto longer = [&](double lost) {
    using std::chrono::nanoseconds;
    return (seconds(nanoseconds{100}, lost) - seconds(nanoseconds{0}, lost)) * 1e6;
  };
  // 100 and 500 updates. The second batch is fetched beside the first updates, and so slows the kernel in between less.
  CHECK(longer(0) == doctest::Approx(60).epsilon(1e-3));
  CHECK(longer(0.5) == doctest::Approx(10 * 1.5 - 15 * 0.5 + 50).epsilon(1e-3));
}

TEST_CASE(
    "more memory for tables never makes lru read more, belady reads least, and prefetches save waiting") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto batches = batches_of(random, 40, 256, 20'000);
  const auto gathers = trace_of(text_of(batches, 20'000, false)), trace = trace_of(text_of(batches, 20'000));
  double last = 1e300;
  for (const auto memory : {400_KiB, 600_KiB, 1_MiB, 2_MiB, 4_MiB}) {
    CAPTURE(memory.count);
    const auto lru = run(gathers, options_of("lru", memory));
    CHECK(lru.rows->read <= last);
    last = lru.rows->read;
    CHECK(lru.seconds >= lru.lower_bound);
    const auto best = run(gathers, options_of("belady", memory));
    CHECK(best.rows->read + best.rows->in_place <= lru.rows->read + lru.rows->in_place);
    auto without = options_of("hint_aware", memory), ahead = options_of("hint_aware", memory, 2);
    without.passes = ahead.passes = 1;  // so that rows come for the first time
    const auto waited = run(trace, without).rows->waiting;
    const auto hidden = run(trace, ahead);
    if (memory >= 1_MiB && memory < 4_MiB) CHECK(hidden.rows->waiting < 0.2 * waited);
    CHECK(hidden.rows->waiting <= waited);
    const auto again = run(trace, ahead);
    CHECK(again.seconds == hidden.seconds);
    CHECK(again.rows->read == hidden.rows->read);
  }
  CHECK(last == 0);
}

TEST_CASE("rows that a table lacks are refused, and so is memory in which no cache fits") {
  const auto trace = trace_of(text_of({{7, 20'000}}, 20'000));
  CHECK(message_of<ConfigError>([&] { (void)run(trace, options_of("lru", 1_MiB)); }) ==
        "table items of 20000 rows has no row 20000");
  const std::string head = "H tmtrace=1\nc rows.1=100,128,items\nT 1 4096 p w\ng 1 items 1 1 7\n";
  const auto update = trace_of(head + "u 2 items 1 2 100\n");
  CHECK(message_of<ConfigError>([&] { (void)run(update, options_of("lru", 1_MiB)); }) ==
        "table items of 100 rows has no row 100");
  const auto right = trace_of(text_of({{7}}, 20'000));
  CHECK(message_of<ConfigError>([&] { (void)run(right, options_of("lru", 1_MiB, 256)); }) ==
        "a replay announces at most 255 gathers of a table ahead, not 256");
  CHECK(message_of<OutOfTierMemory>([&] {
          (void)run(right, options_of("lru", 1_KiB));
        }).starts_with("a budget of 1KiB for 1 tables is too small"));
}

TEST_CASE("tables whose maps memory has no room for are refused") {
  const auto of_one = Bytes{std::size_t{1} << 33};
  const auto tables = available_memory(discover()).count / of_one.count + 1;
  std::string text = "H tmtrace=1\n";
  for (std::size_t i = 1; i <= tables; ++i)
    text += "c rows." + std::to_string(i) + "=2147483648,128,items" + std::to_string(i) + "\n";
  text += "T 1 4096 p w\n";
  for (std::size_t i = 1; i <= tables; ++i)
    text += "g " + std::to_string(i) + " items" + std::to_string(i) + " 1 1 7\n";
  const auto trace = trace_of(text);
  CHECK(message_of<OutOfTierMemory>([&] { (void)run(trace, options_of("lru", 1_MiB)); })
            .starts_with("a replay of tables up to items" + std::to_string(tables) +
                         ", of 2147483648 rows, takes "));
}

TEST_CASE("so many iterations that a table is asked for 2^32 rows are refused, with how many are allowed") {
  Batches batches(10);
  for (RowId row = 0; row < 1000; ++row) batches[row % 10].push_back(row);
  auto options = options_of("belady", 1_MiB);
  const auto refused = [&](const trace::Trace& trace, unsigned passes) {
    options.passes = passes;
    return message_of<ConfigError>([&] { (void)run(trace, options); });
  };
  CHECK(refused(trace_of(text_of(batches, 20'000)), 4'294'967'295) ==
        "4294967295 iterations of a trace that asks table items for 1000 rows, in 10 gathers, are too many: "
        "allowed are up to 4294967");
  CHECK(refused(trace_of(text_of(batches, 20'000)), 4'294'968).ends_with("allowed are up to 4294967"));
  CHECK(refused(trace_of(text_of(batches, 20'000)), 3) == "nothing thrown");
  // Gathers without rows count, too.
  const auto empty =
      trace_of("H tmtrace=1\nc rows.1=20000,128,items\nT 1 4096 p w\ng 1 items 0 1 -\ng 2 items 0 1 -\nI\n");
  CHECK(refused(empty, 4'294'967'295)
            .ends_with("for 0 rows, in 2 gathers, are too many: allowed are up to 2147483647"));
}

TEST_CASE("a recording with its rows replays with less fast memory than it had") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  constexpr RowId rows = 20'000;
  const auto batches = batches_of(random, 20, 256, rows);
  {
    RuntimeOptions options;
    options.tiers = {tiers::dram(16_MiB)};
    options.threads = 1;
    options.trace = path;
    options.trace_rows = true;
    Runtime runtime{options};
    TableOptions table_options;
    table_options.rows = rows;
    table_options.dim = dim;
    table_options.name = "all my items";
    RowTable<float> table{runtime.manager(), std::move(table_options)};
    Tensor<float> sums{runtime, {256, dim}, "sums"};
    for (const auto& batch : batches) {
      const KernelScope k{"gather", overwrites(sums)};
      table.gather(batch, {k.out(sums).data(), sums.count()});
    }
  }
  const auto trace = trace::read_file(path);
  replay::Options options;
  options.passes = 1;
  const auto without = run(trace, options);
  options = options_of("lru", 1_MiB);
  options.passes = 1;
  const auto some = run(trace, options);
  REQUIRE(some.rows.has_value());
  CHECK(some.rows->asked == 20 * 256);
  CHECK(some.rows->read > 0);
  CHECK(some.seconds > without.seconds);
  // The table's home is in the slower tier; only its slots take room of the faster one.
  CHECK(some.traffic[0].high_water < (1_MiB + 64_KiB).count + 2 * 256 * row_bytes);
  CHECK(some.traffic[1].high_water >= rows * row_bytes);
  options.row_memory.reset();  // takes all that is left
  CHECK(run(trace, options).rows->read == 0);
}

}  // namespace tier::rows_test
