// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  What does a gather cost when all rows are in fast memory, against a loop over a plain array that prefetches
///        in software as the table does? Rows lie far apart: the time is that of memory, and of finding the row.
#include <tier/memory/tiers.hpp>
#include <tier/runtime/row_policies.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/table/row_table.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

namespace {

using namespace tier;

constexpr std::size_t batch_rows = 2048, batches = 64;
constexpr std::size_t cached_bytes = 512 << 20;  // 16 times a usual last-level cache

enum Skew : std::int64_t { Uniform, Skewed };

// Skewed as Zipf's law with exponent 1, over all rows, those asked for often lying anywhere.
std::vector<RowId> some_ids(RowId rows, std::int64_t skew) {
  std::mt19937_64 random{42};
  std::uniform_real_distribution<double> unit{0, 1};
  std::vector<RowId> ids(batch_rows * batches);
  for (auto& id : ids) {
    const double rank = skew == Uniform ? unit(random) * rows : std::pow(rows, unit(random)) - 1;
    id = static_cast<RowId>(static_cast<std::uint64_t>(rank) * 2654435761U % rows);
  }
  return ids;
}

/// Rows of `dim` floats that fill `cached_bytes`, and the batches asked of them.
struct Workload {
  explicit Workload(const benchmark::State& state)
      : dim{static_cast<std::size_t>(state.range(0))},
        rows{static_cast<RowId>(cached_bytes / (dim * sizeof(float)))},
        ids{some_ids(rows, state.range(1))},
        out(batch_rows * dim) {}

  [[nodiscard]] std::span<const RowId> next() {
    at = (at + 1) % batches;
    return std::span{ids}.subspan(at * batch_rows, batch_rows);
  }
  [[nodiscard]] std::vector<RowId> all_rows() const {
    std::vector<RowId> all(rows);
    std::iota(all.begin(), all.end(), RowId{0});
    return all;
  }

  std::size_t dim;
  RowId rows;
  std::vector<RowId> ids;
  std::vector<float> out;
  std::size_t at = 0;
};

// Items are rows.
void report(benchmark::State& state, const Workload& work) {
  const auto rows = static_cast<std::int64_t>(state.iterations() * batch_rows);
  state.SetItemsProcessed(rows);
  state.SetBytesProcessed(rows * static_cast<std::int64_t>(work.dim * sizeof(float)));
}

void gather_plain(benchmark::State& state) {
  Workload work{state};
  const auto tier = make_tier(tiers::dram(Bytes{cached_bytes}));
  auto* const base = reinterpret_cast<float*>(tier->base());
  std::fill_n(base, work.rows * work.dim, 0.5F);
  constexpr std::size_t ahead = 12;
  for (auto _ : state) {
    const auto ids = work.next();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i + ahead < ids.size())
        for (std::size_t at = 0; at < work.dim; at += 16)
          __builtin_prefetch(base + ids[i + ahead] * work.dim + at);
      std::memcpy(&work.out[i * work.dim], base + ids[i] * work.dim, work.dim * sizeof(float));
    }
    benchmark::ClobberMemory();
  }
  report(state, work);
}

std::shared_ptr<TableContext> make_context() {
  constexpr Bytes size{cached_bytes * 5 / 4};
  const Runtime runtime{{.tiers = {tiers::dram(size), tiers::emulated("cxl", size)}}};
  return std::make_shared<TableContext>(runtime.manager(), 1);
}

void gather_table(benchmark::State& state, RowTable<float>& table, Workload& work) {
  const auto missed = table.statistics().waited;
  for (auto _ : state) {
    table.gather(work.next(), work.out);
    benchmark::ClobberMemory();
  }
  if (table.statistics().waited != missed) state.SkipWithError("a row was not in fast memory");
  report(state, work);
}

void gather_whole(benchmark::State& state) {
  Workload work{state};
  TableOptions options;
  options.rows = work.rows;
  options.dim = work.dim;
  RowTable<float> table{make_context(), std::move(options)};
  gather_table(state, table, work);
}

// A tenth of the table is in the slow tier only, and is not asked for.
void gather_cached(benchmark::State& state) {
  Workload work{state};
  TableOptions options;
  options.rows = work.rows + work.rows / 10;
  options.dim = work.dim;
  options.slots = work.rows;
  options.policy = make_row_policy("hint_aware");
  RowTable<float> table{make_context(), std::move(options)};
  table.prefetch(work.all_rows());
  table.settle();
  gather_table(state, table, work);
}

void arguments(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"dim", "skewed"})->Args({64, Uniform})->Args({64, Skewed})->Args({128, Uniform});
}
BENCHMARK(gather_plain)->Apply(arguments);
BENCHMARK(gather_whole)->Apply(arguments);
BENCHMARK(gather_cached)->Apply(arguments);

}  // namespace
