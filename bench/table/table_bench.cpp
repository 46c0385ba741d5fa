// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: what does a gather cost if all rows are in fast memory, against a loop over a plain array with the same
// software prefetching? Rows lie far apart, so the time is that of memory and of finding the row.
#include "harness/rows.hpp"

#include <tier/copy/parallel_for.hpp>
#include <tier/memory/tiers.hpp>
#include <tier/runtime/row_policies.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/table/row_table.hpp>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tier::bench {
namespace {

using namespace tier::literals;

constexpr std::size_t batch_rows = 2048, batches = 64;

enum Skew : std::int64_t { Uniform, Skewed };

/// The rows of `dim` floats that fill `bytes`, and floats of state for each.
struct Extent {
  Bytes bytes;
  std::size_t dim;
  std::size_t states = 0;
  [[nodiscard]] RowId rows() const noexcept {
    return static_cast<RowId>(bytes.count / (dim * sizeof(float)));
  }
};

/// Returns at least eight times the last-level cache, so that requested rows are not in it.
Bytes beyond_caches(Bytes at_least) {
  const long cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);  // 0 if unknown
  return std::max(at_least, Bytes{8 * static_cast<std::size_t>(std::max(0L, cache))});
}

/// Batches of ids from all over the table.
class Asked {
 public:
  // Skewed ids follow Zipf's law with exponent 1, over all rows; frequent ones are scattered.
  Asked(RowId rows, std::int64_t skew) : ids_(batch_rows * batches) {
    std::mt19937_64 random{42};
    std::uniform_real_distribution<double> unit{0, 1};
    for (auto& id : ids_) {
      const double rank = skew == Uniform ? unit(random) * rows : std::pow(rows, unit(random)) - 1;
      id = static_cast<RowId>(static_cast<std::uint64_t>(rank) * 2654435761U % rows);
    }
  }
  [[nodiscard]] std::span<const RowId> batch(std::size_t i) const {
    return std::span{ids_}.subspan(i % batches * batch_rows, batch_rows);
  }

 private:
  std::vector<RowId> ids_;
};

/// Copies the rows of some ids to one place.
using Gather = std::function<void(std::span<const RowId> ids, std::span<float> out)>;

/// Calls `copy(ids, out)` for a part of the ids on each of `threads` threads.
template <class Copy>
Gather in_parts(unsigned threads, std::size_t dim, Copy copy) {
  return [copy, dim, arena = std::make_shared<Arena>(threads)](std::span<const RowId> ids,
                                                               std::span<float> out) {
    const auto part = [&](std::size_t i) {
      const auto range = part_of(ids.size(), arena->threads(), i);
      copy(ids.subspan(range.begin, range.end - range.begin), out.data() + range.begin * dim);
    };
    if (arena->threads() == 1)
      part(0);
    else
      arena->parallel_for(arena->threads(), part);
  };
}

constexpr std::size_t ahead = 18, entries_ahead = 40;  // as in tables

/// Copies rows of `dim` floats at `base`.
Gather plain_gather(const float* base, std::size_t dim, unsigned threads) {
  return in_parts(threads, dim, [base, dim](std::span<const RowId> ids, float* out) {
    const auto prefetch = [&](std::size_t i) __attribute__((always_inline)) {
      for (std::size_t at = 0; at < dim; at += 16) __builtin_prefetch(base + ids[i] * dim + at);
    };
    for (std::size_t i = 0; i < std::min(ahead, ids.size()); ++i) prefetch(i);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i + ahead < ids.size()) prefetch(i + ahead);
      std::memcpy(out + i * dim, base + ids[i] * dim, dim * sizeof(float));
    }
  });
}

/// Copies rows behind an index: four bytes per row give its place, the minimum for any table that keeps only some rows.
Gather index_gather(const float* base, const RowId* index, std::size_t dim, unsigned threads) {
  return in_parts(threads, dim, [base, index, dim](std::span<const RowId> ids, float* out) {
    const auto prefetch = [&](std::size_t i) __attribute__((always_inline)) {
      for (std::size_t at = 0; at < dim; at += 16) __builtin_prefetch(base + index[ids[i]] * dim + at);
    };
    for (std::size_t i = 0; i < std::min(entries_ahead, ids.size()); ++i) __builtin_prefetch(&index[ids[i]]);
    for (std::size_t i = 0; i < std::min(ahead, ids.size()); ++i) prefetch(i);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i + entries_ahead < ids.size()) __builtin_prefetch(&index[ids[i + entries_ahead]]);
      if (i + ahead < ids.size()) prefetch(i + ahead);
      std::memcpy(out + i * dim, base + index[ids[i]] * dim, dim * sizeof(float));
    }
  });
}

/// The baseline: an array, with huge pages if tiers have them, and an index of its rows in random order.
class PlainRows {
 public:
  explicit PlainRows(const Extent& extent)
      : dim_{extent.dim}, tier_{make_tier(tiers::dram(extent.bytes + Bytes{extent.rows() * sizeof(RowId)}))} {
    auto* const base = reinterpret_cast<float*>(tier_->base());
    std::fill_n(base, extent.rows() * dim_, 0.5F);
    auto* const index = reinterpret_cast<RowId*>(base + extent.rows() * dim_);
    std::iota(index, index + extent.rows(), RowId{0});
    std::shuffle(index, index + extent.rows(), std::mt19937_64{1});
    base_ = base;
    index_ = index;
  }
  [[nodiscard]] Gather by_id(unsigned threads) const { return plain_gather(base_, dim_, threads); }
  [[nodiscard]] Gather by_index(unsigned threads) const { return index_gather(base_, index_, dim_, threads); }

 private:
  std::size_t dim_;
  std::unique_ptr<Tier> tier_;
  const float* base_;
  const RowId* index_;
};

enum class Kind { Whole, Cached };

/// A table whose requested rows are all in fast memory. A cached table keeps a tenth elsewhere, which is not requested.
class TableRows {
 public:
  TableRows(const Extent& extent, Kind kind, unsigned threads)
      : runtime_{{.tiers = {tiers::dram(room(extent)), tiers::emulated("cxl", room(extent))}}} {
    TableOptions options;
    options.rows = extent.rows();
    options.dim = extent.dim;
    options.state_columns = extent.states;
    if (kind == Kind::Cached) {
      options.slots = options.rows;
      options.rows += options.rows / 10;
      options.policy = make_row_policy("hint_aware");
    }
    table_ = std::make_unique<RowTable<float>>(std::make_shared<TableContext>(runtime_.manager(), threads),
                                               std::move(options));
    if (kind == Kind::Whole) return;
    std::vector<RowId> all(extent.rows());
    std::iota(all.begin(), all.end(), RowId{0});
    table_->prefetch(all);
    table_->settle();
  }
  [[nodiscard]] Gather gather() const {
    return [this](std::span<const RowId> ids, std::span<float> out) { table_->gather(ids, out); };
  }
  /// Returns the address of a whole table's rows.
  [[nodiscard]] const float* rows() {
    const RowId first = 0;
    const std::vector<float> gradient(table_->dim());
    const float* rows = nullptr;
    table_->update({&first, 1}, gradient,
                   [&](std::span<float> row, auto, auto) noexcept { rows = row.data(); });
    return rows;
  }
  [[nodiscard]] bool all_hit() const { return table_->statistics().waited == 0; }

 private:
  static Bytes room(const Extent& extent) {
    const auto row_bytes = (extent.dim + extent.states) * sizeof(float);
    return {extent.rows() * row_bytes / 4 * 5 + extent.rows() * (sizeof(float) + 32)};
  }

  Runtime runtime_;
  std::unique_ptr<RowTable<float>> table_;
};

/// Gathers batch by batch.
class Gathering {
 public:
  Gathering(const Extent& extent, Skew skew) : asked_{extent.rows(), skew}, out_(batch_rows * extent.dim) {}
  /// Times our gather against a plain array's.
  Pair time(const Gather& ours, const Gather& plain) {
    return time_pair([&] { all(ours); }, [&] { all(plain); }, 25);
  }
  static double ns_per_row(const Timings& timings) { return timings.median() / (batches * batch_rows) * 1e9; }

 private:
  void all(const Gather& gather) {
    for (std::size_t i = 0; i < batches; ++i) gather(asked_.batch(i), out_);
    benchmark::ClobberMemory();
  }

  Asked asked_;
  std::vector<float> out_;
};

/// A baseline, and the speed relative to it that is to be reached.
struct Mark {
  const char* baseline;
  double least;
  const char* reach;
};

std::string describe(const Extent& extent, Skew skew, unsigned threads) {
  return "gather of " + std::to_string(extent.dim * sizeof(float)) + " B rows" +
         (extent.states == 0 ? "" : " with a state") + " from " + to_human(extent.bytes) +
         (skew == Uniform ? ", uniform" : ", skewed") + (threads == 1 ? ", one thread" : ", two threads");
}

Row gather_row(Kind kind, std::string what, const Pair& pair, const Mark& mark) {
  const double ours = Gathering::ns_per_row(pair.ours), theirs = Gathering::ns_per_row(pair.baseline);
  return checked_row({.id = kind == Kind::Whole ? "table.whole" : "table.cached",
                      .what = std::move(what),
                      .value = ours,
                      .unit = "ns/row",
                      .baseline = mark.baseline,
                      .baseline_value = theirs,
                      .ratio = theirs / ours,
                      .reach = mark.reach,
                      .reached = theirs >= mark.least * ours},
                     pair);
}

/// Adds rows of "What to reach" for one extent: speed relative to the plain array, and for a table with a map also relative
/// to that array behind an index, the least that a map costs. Beside a whole table stands the plain loop over the table's
/// own rows: a gap to the mark that this has, too, is luck with the placement of memory.
void add_gathers(Kind kind, const Extent& extent, unsigned threads, std::vector<Row>& rows) {
  const bool whole = kind == Kind::Whole;
  const PlainRows plain{extent};
  TableRows table{extent, kind, threads};
  for (const auto skew : {Uniform, Skewed}) {
    Gathering gathering{extent, skew};
    const auto what = describe(extent, skew, threads);
    if (whole || extent.dim >= 64) {
      const Mark mark{"plain array, same prefetch",
                      whole             ? 0.97
                      : skew == Uniform ? 0.75
                                        : 0.85,
                      whole             ? ">= 0.97"
                      : skew == Uniform ? ">= 0.75"
                                        : ">= 0.85"};
      rows.push_back(gather_row(kind, what, gathering.time(table.gather(), plain.by_id(threads)), mark));
    }
    if (whole) {
      const Pair bound = gathering.time(table.gather(), plain_gather(table.rows(), extent.dim, threads));
      std::printf("bound of table.whole: %s; the plain array's loop over the table's own rows: %s\n",
                  what.c_str(), bound.to_string().c_str());
    } else {
      const Mark mark{"plain array behind an index of 4 B a row", 0.95, ">= 0.95"};
      rows.push_back(gather_row(kind, what + ", beside an index",
                                gathering.time(table.gather(), plain.by_index(threads)), mark));
    }
    if (!table.all_hit()) throw std::runtime_error{what + ": a row was not in fast memory"};
  }
}

template <Kind kind>
std::vector<Row> table_rows() {
  std::vector<Row> rows;
  for (const unsigned threads : {1U, 2U})
    if (threads <= std::max(1U, std::thread::hardware_concurrency()))
      add_gathers(kind, {beyond_caches(2_GiB), 64}, threads, rows);
  for (const std::size_t dim : {16, 32, 64, 128}) add_gathers(kind, {beyond_caches(1_GiB), dim, 1}, 1, rows);
  return rows;
}

const bool registered =
    add_rows("table.whole", table_rows<Kind::Whole>) && add_rows("table.cached", table_rows<Kind::Cached>);

// Google Benchmark's items are rows.
void gather_with(benchmark::State& state, const Gather& gather, const Extent& extent) {
  const Asked asked{extent.rows(), state.range(1)};
  std::vector<float> out(batch_rows * extent.dim);
  std::size_t i = 0;
  for (auto _ : state) {
    gather(asked.batch(i++), out);
    benchmark::ClobberMemory();
  }
  const auto rows = static_cast<std::int64_t>(state.iterations() * batch_rows);
  state.SetItemsProcessed(rows);
  state.SetBytesProcessed(rows * static_cast<std::int64_t>(extent.dim * sizeof(float)));
}

Extent extent_of(const benchmark::State& state) {
  return {beyond_caches(512_MiB), static_cast<std::size_t>(state.range(0))};
}
unsigned threads_of(const benchmark::State& state) { return static_cast<unsigned>(state.range(2)); }

void gather_plain(benchmark::State& state) {
  const PlainRows rows{extent_of(state)};
  gather_with(state, rows.by_id(threads_of(state)), extent_of(state));
}

void gather_by_index(benchmark::State& state) {
  const PlainRows rows{extent_of(state)};
  gather_with(state, rows.by_index(threads_of(state)), extent_of(state));
}

template <Kind kind>
void gather_table(benchmark::State& state) {
  const TableRows rows{extent_of(state), kind, threads_of(state)};
  gather_with(state, rows.gather(), extent_of(state));
  if (!rows.all_hit()) state.SkipWithError("a row was not in fast memory");
}

void arguments(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"dim", "skewed", "threads"})
      ->ArgsProduct({{16, 32, 64, 128}, {Uniform, Skewed}, {1, 2}})
      ->UseRealTime();
}
BENCHMARK(gather_plain)->Apply(arguments);
BENCHMARK(gather_by_index)->Apply(arguments);
BENCHMARK(gather_table<Kind::Whole>)->Apply(arguments);
BENCHMARK(gather_table<Kind::Cached>)->Apply(arguments);

}  // namespace
}  // namespace tier::bench
