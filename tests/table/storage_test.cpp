// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tables that store their rows as halves or bfloats.
#include "rig.hpp"
#include "support/seed.hpp"

#include <tier/core/error.hpp>
#include <tier/table/cache_advisor.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "table/rows/row_layout.hpp"

namespace tier::storage_test {

using namespace tier::test;

namespace {

constexpr Kind kinds[] = {Kind::Whole, Kind::Rows, Kind::Direct, Kind::Blocks};
constexpr StoredAs narrow[] = {
    {RowStorage::Half, {}}, {RowStorage::Half, 42}, {RowStorage::BFloat16, {}}, {RowStorage::BFloat16, 42}};

TableOptions layout_options(RowStorage storage, std::size_t dim, std::size_t state_columns) {
  TableOptions options;
  options.rows = 1000;
  options.dim = dim;
  options.state_columns = state_columns;
  options.storage = storage;
  return options;
}

/// Returns all values of a table after some training, and those that the training read.
std::vector<float> train(const Rig& rig, std::string_view policy, std::uint64_t seed) {
  auto table = rig.table(2000, 13, 300, policy);
  std::mt19937_64 random{seed};
  std::vector<float> seen;
  for (int step = 0; step < 4; ++step) {
    std::vector<RowId> ids(3600);
    for (auto& id : ids) id = static_cast<RowId>(random() % (1 + random() % 2000));
    std::vector<std::uint32_t> offsets;
    for (std::uint32_t at = 0; at <= ids.size(); at += 3) offsets.push_back(at);
    std::vector<float> sums(1200 * 13);
    auto batch = table.batch(ids);
    batch.gather_pooled(offsets, sums);
    batch.update_pooled(offsets, std::span<const float>{sums}, RowWiseAdagrad{});
    seen.insert(seen.end(), sums.begin(), sums.end());
  }
  for (const auto& part : {all_rows(table), all_states(table)})
    seen.insert(seen.end(), part.begin(), part.end());
  return seen;
}

/// Returns the message of a `ConfigError`.
std::string refusal(const Rig& rig, StoredAs stored) {
  auto options = rig.options(100, 4, 10);
  options.storage = stored.storage;
  options.stochastic_seed = stored.seed;
  try {
    const RowTable<float> table{rig.context, std::move(options)};
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "nothing was refused";
}

}  // namespace

TEST_CASE(
    "narrow rows are gathered, pooled, updated and scattered as a plain model does it, wherever they are") {
  for (const auto& stored : narrow) {
    for (const auto kind : kinds) {
      CAPTURE(static_cast<int>(stored.storage));
      CAPTURE(static_cast<int>(kind));
      Rig rig{kind};
      rig.stored = stored;
      auto table = rig.table(500, 19, 50, "lfu");
      PlainTable plain{500, 19, stored};
      const std::vector<RowId> ids{3, 400, 3, 4, 3, 400, 499, 0};
      const std::vector<std::uint32_t> offsets{0, 3, 3, 8};
      std::vector<float> gradients(ids.size() * 19), pooled(3 * 19, 9.0F);
      for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = 1e-4F * static_cast<float>(i * i) - 1;
      for (int repeat = 0; repeat < 3; ++repeat) {
        CHECK(same_bits(gather(table, ids), plain.gather(ids)));
        table.gather_pooled(ids, offsets, pooled);
        CHECK(same_bits(pooled, plain.pooled(ids, offsets)));
        table.update(ids, std::span<const float>{gradients}, RowWiseAdagrad{0.1F});
        plain.update(ids, gradients, RowWiseAdagrad{0.1F});
        table.settle();
      }
      table.scatter(ids, gradients);
      plain.scatter(ids, gradients);
      CHECK(is(table, plain));
      table.flush();
      CHECK(is(table, plain));
      table.check_invariants();
    }
  }
}

TEST_CASE(
    "narrow results are the same bits for every kind of table, every policy and every number of threads") {
  const auto seed = test::seed();
  CAPTURE(seed);
  for (const auto& stored : narrow) {
    std::vector<float> first;
    for (const auto kind : kinds) {
      for (const std::string_view policy : {"first_touch", "lfu", "hint_aware"}) {
        for (const unsigned threads : {1U, 2U, 3U}) {
          Rig rig{kind, threads};
          rig.stored = stored;
          const auto end = train(rig, policy, seed);
          if (first.empty()) first = end;
          CHECK(same_bits(end, first));
        }
      }
    }
  }
}

TEST_CASE("stochastic rounding gives the same bits again with the same seed, and others with another") {
  const auto trained = [](std::uint64_t rounding_seed) {
    Rig rig{Kind::Rows};
    rig.stored = {RowStorage::BFloat16, rounding_seed};
    return train(rig, "lru", 5);
  };
  CHECK(same_bits(trained(1), trained(1)));
  CHECK(!same_bits(trained(1), trained(2)));
}

TEST_CASE(
    "updates too small for the next value are lost to nearest rounding, and add up in the mean by chance") {
  constexpr std::size_t rows = 400, dim = 50, steps = 100;
  constexpr float step = 1e-4F;
  std::vector<RowId> ids(rows);
  std::iota(ids.begin(), ids.end(), RowId{0});
  const std::vector<float> ones(rows * dim, 1.0F);
  for (const auto& stored : narrow) {
    const double gap =
        stored.storage == RowStorage::Half ? 0x1p-11 : 0x1p-8;  // from 1 to the next value below
    Rig rig{Kind::Rows};
    rig.stored = stored;
    auto table = rig.table(rows, dim, 100, "lru");
    table.scatter(ids, ones);
    for (std::size_t i = 0; i < steps; ++i) table.update(ids, std::span<const float>{ones}, Sgd{step});
    const auto values = all_rows(table);
    const double mean =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    if (!stored.seed) {
      CHECK(mean == 1.0);
      continue;
    }
    // A step moves a value by the gap with chance p: a variance of p (1 - p) gap^2, and there are rows x dim values.
    const double p = step / gap, deviation = std::sqrt(p * (1 - p) * steps / (rows * dim)) * gap;
    CHECK(std::fabs(mean - (1 - static_cast<double>(step) * steps)) < 5 * deviation);
  }
}

TEST_CASE("what a narrow table can hold exactly is what was put in, whatever the rounding") {
  for (const auto& stored : narrow) {
    Rig rig{Kind::Blocks};
    rig.stored = stored;
    auto table = rig.table(300, 8, 20);
    const std::vector<RowId> ids{7, 299};
    std::vector<float> values(16);
    for (std::size_t i = 0; i < 16; ++i)
      values[i] = std::ldexp(static_cast<float>(i) - 7, static_cast<int>(i) - 8);
    values[3] = -0.0F;
    table.scatter(ids, values);
    CHECK(same_bits(gather(table, ids), values));
    // Reading all rows of a table and scattering them changes nothing.
    auto rows = all_rows(table);
    std::vector<RowId> all(300);
    std::iota(all.begin(), all.end(), RowId{0});
    table.scatter(all, rows);
    CHECK(same_bits(all_rows(table), rows));
  }
}

TEST_CASE(
    "a value beyond the largest half is infinite once stored, in a table of bfloats or floats it is not") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const auto kind : kinds) {
    Rig rig{kind};
    for (const auto storage : {RowStorage::Float, RowStorage::Half, RowStorage::BFloat16}) {
      rig.stored.storage = storage;
      auto table = rig.table(100, 2, 10);
      table.scatter({{5}}, std::vector<float>{-131072, 65504});
      const auto values = gather(table, {5});
      CHECK(values[0] == (storage == RowStorage::Half ? -infinity : -131072.0F));
      CHECK(values[1] == (storage == RowStorage::BFloat16 ? 65536.0F : 65504.0F));
    }
  }
}

TEST_CASE("narrow rows take half the bytes, and their state behind them is aligned") {
  const MemoryTier blocks{{"blocks", 1_MiB, std::chrono::nanoseconds{1}, false}};
  for (const auto storage : {RowStorage::Half, RowStorage::BFloat16}) {
    CHECK(detail::row_layout(layout_options(storage, 64, 0)).use.value_stride == 128);
    CHECK(detail::row_layout(layout_options(storage, 64, 1)).use.value_stride == 128);
    CHECK(detail::row_layout(layout_options(storage, 64, 1)).row_bytes == 132);
    CHECK(detail::row_layout(layout_options(storage, 63, 1)).state_offset() == 128);
    CHECK(detail::row_layout(layout_options(storage, 1023, 0)).use.value_stride ==
          2048);  // whole cache lines
    CHECK(detail::row_layout(layout_options(storage, 15, 0)).use.value_stride == 30);
    // On a device, in blocks of 512 bytes.
    CHECK(detail::row_layout(layout_options(storage, 64, 0), blocks).block_rows == 4);
    CHECK(detail::row_layout(layout_options(RowStorage::Float, 64, 0), blocks).block_rows == 2);
    CHECK(detail::row_layout(layout_options(storage, 300, 1), blocks).row_bytes == 1024);
    CHECK(detail::row_layout(layout_options(RowStorage::Float, 300, 1), blocks).row_bytes == 1536);
    for (const std::size_t dim : {1, 3, 16, 127, 129, 1000})
      for (const std::size_t states : {0, 1, 3})
        for (const auto& layout : {detail::row_layout(layout_options(storage, dim, states)),
                                   detail::row_layout(layout_options(storage, dim, states), blocks)}) {
          CHECK(layout.row_bytes % alignof(float) == 0);
          CHECK(layout.state_offset() % alignof(float) == 0);
          CHECK(layout.state_offset() >= 2 * dim);
          CHECK(layout.used_row_bytes() <= layout.row_bytes);
        }
  }
}

TEST_CASE("bytes needed, budgets and advice are those of the storage") {
  for (const auto kind : {Kind::Rows, Kind::Blocks}) {
    Rig rig{kind};
    const auto options = [&](RowStorage storage) {
      rig.stored.storage = storage;
      auto made = rig.options(9000, 64, 0, "lru", 0);
      made.slots.reset();
      made.budget = 200_KiB;
      made.sample = 1000;
      return made;
    };
    const auto wide = bytes_needed(*rig.manager, options(RowStorage::Float));
    for (const auto storage : {RowStorage::Half, RowStorage::BFloat16}) {
      const auto said = bytes_needed(*rig.manager, options(storage));
      CHECK(said.whole.count == wide.whole.count / 2);
      CHECK(said.cache.total() <= 200_KiB);
      RowTable<float> table{rig.context, options(storage)};
      CHECK(table.fast_bytes() == said.cache.total() - said.cache.policy);
      RowTable<float> floats{rig.context, options(RowStorage::Float)};
      CHECK(2 * table.slots() > 3 * floats.slots());  // less than twice: the slot map does not shrink
      const std::vector<RowId> log{1, 2, 3, 1, 2, 3, 8999};
      CacheAdvisor advisor{*rig.manager, options(storage)};
      advisor.note(log);
      const auto curve = advisor.advise();
      CHECK(curve.sizes.back().bytes == said.whole);
      CHECK(curve.sizes.front().bytes == said.minimum);
    }
    rig.stored.storage = RowStorage::Half;
    auto whole = rig.options(9000, 64, 0, "lru", 0);
    whole.slots.reset();
    whole.budget = Bytes{std::size_t{9000} * 128};
    CHECK(RowTable<float>{rig.context, std::move(whole)}.is_whole());
  }
}

TEST_CASE("what is moved of a narrow table is narrow") {
  Rig rig{Kind::Rows};
  rig.stored.storage = RowStorage::Half;
  auto table = rig.table(1000, 62, 10, "lru");  // 124 bytes of values, 4 of state
  gather(table, {1, 2, 3});
  CHECK(table.statistics().bytes_in == 3 * 128);
}

TEST_CASE(
    "storage that there is none of, and a seed for what is not rounded, are refused with what is allowed") {
  const Rig rig{Kind::Rows};
  const auto contains = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  const auto unknown = refusal(rig, {static_cast<RowStorage>(3), {}});
  CHECK(contains(unknown, "table 'clicks': storage 3 is unknown"));
  CHECK(contains(unknown, "Float, Half, BFloat16"));
  const auto seeded = refusal(rig, {RowStorage::Float, 1});
  CHECK(contains(seeded, "table 'clicks': stochastic_seed is given"));
  CHECK(contains(seeded, "allowed with Half and BFloat16"));
  auto options = rig.options(100, 4, 10);
  options.stochastic_seed = 1;
  CHECK_THROWS_AS(std::ignore = bytes_needed(*rig.manager, options), ConfigError);
}

}  // namespace tier::storage_test
