// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: do more threads do more work, up to the limit of the machine, and never less?
#include "allocators/allocators.hpp"
#include "harness/rows.hpp"
#include "harness/team.hpp"
#include "manager/manager_core.hpp"

#include <tier/core/error.hpp>
#include <tier/memory/tiers.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/table/row_table.hpp>
#include <tier/tensor/tensor.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tier::bench {
namespace {

using namespace tier::literals;

constexpr std::size_t most_threads = 8;

/// The part of one thread in some work: so many operations, begun and ended by it.
using Part = FunctionRef<void(std::size_t thread, std::size_t operations)>;

/// Has the team do the work in equal parts.
void share(Team& team, std::size_t operations, Part work) {
  team.run([&](std::size_t thread) { work(thread, operations / team.size()); });
}

/// What some threads do, and the same work done by the machine alone.
struct Work {
  const char* id;
  Runtime& runtime;
  std::string what;
  std::size_t operations;  ///< of all threads in one sample
  Part ours;
  const char* limit_name;
  Part limit;
  bool is_of_faults = false;  ///< page faults are what is measured, and the limit has none
};

/// Prints for how long an operation holds the manager's lock, in a build that can tell. That time bounds the work of any
/// number of threads.
void print_lock_times([[maybe_unused]] const Work& work) {
#if defined(TIER_LOCK_TIMES)
  constexpr int repeats = 9;
  auto& times = static_cast<ManagerCore&>(*work.runtime.manager()).hold_times();
  std::vector<double> each;  // ns an operation
  double most = 0, longest = 0, holds = 0;
  for (int i = 0; i < repeats; ++i) {
    work.runtime.manager()->quiesce();
    times.reset();
    work.ours(0, work.operations);
    work.runtime.manager()->quiesce();
    const auto count = static_cast<double>(work.operations);
    each.push_back(times.total_ns() / count);
    holds = static_cast<double>(times.holds()) / count;
    most = std::max(most, times.quantile_ns(0.999));
    longest = std::max(longest, times.longest_ns());
  }
  std::ranges::nth_element(each, each.begin() + repeats / 2);
  const double median = each[repeats / 2];
  std::printf(
      "%s: %s: %.0f ns under the manager's lock an operation (held %.2f times), so at most %.2f M/s; "
      "99.9 %% of holds without a policy <= %.1f us, the longest %.1f us\n",
      work.id, work.what.c_str(), median, holds, 1e3 / median, most / 1e3, longest / 1e3);
#endif
}

/// Makes a row for 1, 2, 4 and 8 threads: the first against the limit, the others against half as many threads.
void add_scaling(const Work& work, std::vector<Row>& rows) {
  print_lock_times(work);
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t threads = 1; threads <= most_threads; threads *= 2) {
    Team team{threads}, fewer{std::max<std::size_t>(1, threads / 2)};
    const auto ours = [&] { share(team, work.operations, work.ours); };
    const Pair beside_limit = time_pair(ours, [&] { share(team, work.operations, work.limit); });
    const double of_limit = beside_limit.baseline.median() / beside_limit.ours.median();
    std::array<char, 120> note{};
    std::snprintf(note.data(), note.size(), "; %.2f of the rate of %s", of_limit, work.limit_name);
    const auto rate = static_cast<double>(work.operations) / 1e6;
    const auto compare = [&](Pair pair, std::string baseline, std::string reach, bool reached) {
      if (work.is_of_faults) pair.ours.faults = pair.baseline.faults = 0;
      rows.push_back(checked_row({.id = work.id,
                                  .what = work.what + ", " + std::to_string(threads) +
                                          (threads == 1 ? " thread" : " threads") + note.data(),
                                  .value = rate / pair.ours.median(),
                                  .unit = "M/s",
                                  .baseline = std::move(baseline),
                                  .baseline_value = rate / pair.baseline.median(),
                                  .ratio = pair.baseline.median() / pair.ours.median(),
                                  .reach = std::move(reach),
                                  .reached = reached},
                                 pair));
    };
    if (threads == 1) {
      compare(beside_limit, work.limit_name, "a fact", true);
      continue;
    }
    const Pair pair = time_pair(ours, [&] { share(fewer, work.operations, work.ours); });
    const double gain = pair.baseline.median() / pair.ours.median();
    if (threads <= cores)
      compare(pair, "half the threads", ">= 1.6, or 0.9 of the limit", gain >= 1.6 || of_limit >= 0.9);
    else
      compare(pair, "half the threads", ">= 0.95", gain >= 0.95);
  }
}

/// Memory for baselines, on pages like those of a tier.
class PlainMemory {
 public:
  explicit PlainMemory(Bytes size) : tier_{make_tier(tiers::dram(size))} {
    std::memset(tier_->base(), 0, size.count);
  }
  [[nodiscard]] std::byte* at(std::size_t offset) const { return tier_->base() + offset; }

 private:
  std::unique_ptr<Tier> tier_;
};

// --- tensors made and destroyed --------------------------------------------------------------------------

std::vector<Row> threads_allocate() {
  std::vector<Row> rows;
  for (const Bytes size : {64_KiB, 128_KiB, 2_MiB}) {
    Runtime runtime{{.tiers = {tiers::dram(2_GiB)}}};
    auto& plain = mimalloc();
    add_scaling({.id = "threads.allocate",
                 .runtime = runtime,
                 .what = "tensors of " + to_human(size) + " made and destroyed",
                 .operations = 40'000,
                 .ours =
                     [&](std::size_t, std::size_t operations) {
                       for (std::size_t i = 0; i < operations; ++i) {
                         const Tensor<float> made{runtime, Shape{size.count / sizeof(float)}};
                         benchmark::DoNotOptimize(&made);
                       }
                     },
                 .limit_name = "mimalloc",
                 .limit =
                     [&](std::size_t, std::size_t operations) {
                       for (std::size_t i = 0; i < operations; ++i) {
                         void* const made = plain.allocate(size.count);
                         benchmark::DoNotOptimize(made);
                         plain.deallocate(made, size.count);
                       }
                     }},
                rows);
  }
  return rows;
}

// --- reads of what is mostly elsewhere -------------------------------------------------------------------

/// Numbers of tensors in random order, other ones for each thread.
class Picks {
 public:
  Picks(std::size_t thread, std::size_t count)
      : state_{static_cast<unsigned>(thread) * 7919 + 1}, count_{count} {}
  [[nodiscard]] std::size_t next() noexcept {
    state_ = state_ * 1664525U + 1013904223U;
    return (state_ >> 8U) % count_;
  }

 private:
  unsigned state_;
  std::size_t count_;
};

constexpr Bytes miss_size = 64_KiB;
constexpr std::size_t miss_count = 4096;  // a quarter fits fast memory

/// The machine's limit for misses in memory: copies what is missing.
class PlainCopies {
 public:
  void operator()(std::size_t thread, std::size_t operations) const {
    Picks picks{thread, miss_count};
    for (std::size_t i = 0; i < operations; ++i) {
      const auto pick = picks.next();
      if (pick % 4 == 0) continue;  // what a cache of a quarter keeps of random reads
      std::memcpy(to_.at(pick / 4 * miss_size.count), from_.at(pick * miss_size.count), miss_size.count);
      benchmark::ClobberMemory();
    }
  }

 private:
  PlainMemory from_{miss_size * miss_count}, to_{miss_size * (miss_count / 4)};
};

/// The machine's limit for misses in a file: each thread reads for itself what is missing, past the page cache.
class PlainReads {
 public:
  explicit PlainReads(const TierSpec& file) : tier_{make_tier(file)} {
    for (std::size_t i = 0; i < miss_count; ++i) transfer(Direction::Write, 0, i);
  }
  void operator()(std::size_t thread, std::size_t operations) {
    Picks picks{thread, miss_count};
    for (std::size_t i = 0; i < operations; ++i)
      if (const auto pick = picks.next(); pick % 4 != 0) transfer(Direction::Read, thread, pick);
  }

 private:
  void transfer(Direction direction, std::size_t thread, std::size_t pick) {
    IoRequest request{pick * miss_size.count, memory_.at(thread * miss_size.count), miss_size.count, {}};
    tier_->transfer(direction, {&request, 1});
    if (request.error) throw TierError{request.error, "a file of a benchmark"};
  }

  std::unique_ptr<Tier> tier_;
  PlainMemory memory_{miss_size * most_threads};
};

/// Tensors of which a quarter fits fast memory, over some slower tier.
void add_misses(const std::string& where, const TierSpec& slower, std::size_t operations,
                const char* limit_name, Part limit, std::vector<Row>& rows) {
  Runtime runtime{{.tiers = {tiers::dram(miss_size * (miss_count / 4)), slower}}};
  std::vector<Tensor<float>> tensors;
  for (std::size_t i = 0; i < miss_count; ++i) {
    tensors.emplace_back(runtime, Shape{miss_size.count / sizeof(float)});
    const WriteScope filled{overwrites(tensors.back())};
    std::memset(filled[tensors.back()].data(), 1, miss_size.count);
  }
  add_scaling({.id = "threads.miss",
               .runtime = runtime,
               .what = "reads of 64 KiB, a quarter in memory, the rest " + where,
               .operations = operations,
               .ours =
                   [&](std::size_t thread, std::size_t n) {
                     Picks picks{thread, miss_count};
                     for (std::size_t i = 0; i < n; ++i) {
                       auto& tensor = tensors[picks.next()];
                       const ReadScope scope{tensor};
                       benchmark::DoNotOptimize(scope[tensor].data()[0]);
                     }
                   },
               .limit_name = limit_name,
               .limit = limit},
              rows);
}

std::vector<Row> threads_miss() {
  constexpr Bytes size = 1_GiB;
  const char* const folder = std::getenv("TIER_BENCH_DIR");
  const auto file = tiers::file(folder != nullptr ? folder : ".", size);
  const PlainCopies copies;
  std::vector<Row> rows;
  add_misses("in memory", tiers::dram(size), 8'000, "memcpy of what is missing", copies, rows);
  add_misses("in emulated CXL memory", tiers::emulated("cxl", size), 4'000, "memcpy of what is missing",
             copies, rows);
  PlainReads reads{file};
  add_misses("in a file", file, 2'000, "reads of what is missing", reads, rows);
  return rows;
}

std::vector<Row> threads_fault() {
  std::vector<Row> rows;
  // Windows show plain memory where it is: only a charged tier makes loads fault.
  Runtime runtime{{.tiers = {tiers::dram(miss_size * (miss_count / 4)), tiers::emulated("cxl", 1_GiB)}}};
  MigratingResource memory{runtime};
  std::vector<volatile std::byte*> blocks;
  for (std::size_t i = 0; i < miss_count; ++i) {
    auto* const block = static_cast<std::byte*>(memory.allocate(miss_size.count));
    std::memset(block, 1, miss_size.count);
    blocks.push_back(block);
  }
  if (runtime.statistics().windows != WindowMode::Full) {
    std::printf("threads.fault: skipped: the process may not serve its page faults\n");
    return rows;
  }
  const PlainCopies copies;
  add_scaling({.id = "threads.fault",
               .runtime = runtime,
               .what = "loads from 64 KiB of windows without a scope, a quarter in memory, the rest in "
                       "emulated CXL memory",
               .operations = 4'000,
               .ours =
                   [&](std::size_t thread, std::size_t n) {
                     Picks picks{thread, miss_count};
                     for (std::size_t i = 0; i < n; ++i) benchmark::DoNotOptimize(*blocks[picks.next()]);
                   },
               .limit_name = "memcpy of what is missing",
               .limit = copies,
               .is_of_faults = true},
              rows);
  for (volatile std::byte* block : blocks) memory.deallocate(const_cast<std::byte*>(block), miss_size.count);
  return rows;
}

// --- rows of a table -------------------------------------------------------------------------------------

std::vector<Row> threads_table() {
  constexpr std::size_t dim = 64, batch = 1000, row_count = 1'000'000, ahead = 18;
  Runtime runtime{{.tiers = {tiers::dram(1_GiB)}}};
  TableOptions options;
  options.rows = row_count;
  options.dim = dim;
  RowTable<float> table{std::make_shared<TableContext>(runtime.manager(), 1), std::move(options)};
  const PlainMemory memory{Bytes{row_count * dim * sizeof(float)}};
  auto* const plain = reinterpret_cast<float*>(memory.at(0));
  std::array<std::vector<RowId>, most_threads> ids;
  std::array<std::vector<float>, most_threads> out;
  for (std::size_t thread = 0; thread < most_threads; ++thread) {
    out[thread].resize(batch * dim);
    std::mt19937_64 random{thread};
    for (std::size_t i = 0; i < 16 * batch; ++i)
      ids[thread].push_back(static_cast<RowId>(random() % row_count));
  }
  std::vector<Row> rows;
  const auto of = [&](std::size_t thread, std::size_t i) {
    return std::span{ids[thread]}.subspan(i % 16 * batch, batch);
  };
  /// Calls `use` for each row of a plain array, and fetches rows ahead.
  const auto plain_rows = [&](std::size_t thread, std::size_t batches, auto&& use) {
    for (std::size_t i = 0; i < batches; ++i) {
      const auto batch_ids = of(thread, i);
      for (std::size_t k = 0; k < batch; ++k) {
        if (k + ahead < batch)
          for (std::size_t at = 0; at < dim; at += 16)
            __builtin_prefetch(&plain[batch_ids[k + ahead] * dim + at]);
        use(k, &plain[batch_ids[k] * dim]);
      }
      benchmark::ClobberMemory();
    }
  };
  add_scaling({.id = "threads.table",
               .runtime = runtime,
               .what = "batches of 1,000 rows of 256 B gathered",
               .operations = 1'600,
               .ours =
                   [&](std::size_t thread, std::size_t n) {
                     for (std::size_t i = 0; i < n; ++i) table.gather(of(thread, i), out[thread]);
                   },
               .limit_name = "a plain array",
               .limit =
                   [&](std::size_t thread, std::size_t n) {
                     plain_rows(thread, n, [&](std::size_t k, float* row) {
                       std::memcpy(&out[thread][k * dim], row, dim * sizeof(float));
                     });
                   }},
              rows);
  const std::vector<float> gradients(batch * dim, 1e-3F);
  add_scaling({.id = "threads.table",
               .runtime = runtime,
               .what = "batches of 1,000 rows of 256 B updated",
               .operations = 1'600,
               .ours =
                   [&](std::size_t thread, std::size_t n) {
                     for (std::size_t i = 0; i < n; ++i) table.update(of(thread, i), gradients, Sgd{0.1F});
                   },
               .limit_name = "a plain array without locks",
               .limit =
                   [&](std::size_t thread, std::size_t n) {
                     plain_rows(thread, n, [&](std::size_t k, float* row) {
                       for (std::size_t at = 0; at < dim; ++at) row[at] -= 0.1F * gradients[k * dim + at];
                     });
                   }},
              rows);
  return rows;
}

const bool registered = add_rows("threads.allocate", threads_allocate) &&
                        add_rows("threads.miss", threads_miss) && add_rows("threads.fault", threads_fault) &&
                        add_rows("threads.table", threads_table);

}  // namespace
}  // namespace tier::bench
