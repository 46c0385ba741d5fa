// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: what does a training step of the DLRM pay for libtier if all its data fits fast memory, and what if a tenth
// does?
#include "harness/recorded.hpp"
#include "harness/rows.hpp"
#include "harness/shares.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <omp.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "dlrm/runs.hpp"
#include "dlrm_model/plain_memory.hpp"
#include "dlrm_model/tiered_memory.hpp"
#include "indexed_memory.hpp"
#include "large_task.hpp"

namespace tier::bench {
namespace {

/// The model and batches of `tier-dlrm` with small tables: 8 of 100,000 rows of 32 floats, 8 ids for each.
struct Task {
  std::unique_ptr<dlrm::Log> log;
  dlrm::ModelOptions model;
  std::vector<dlrm::Batch> batches;

  Task() {
    dlrm::Options options;
    options.rows = {100'000};
    omp_set_num_threads(static_cast<int>(dlrm::threads_of(options)));
    log = make_log(options);
    const auto experiment = make_experiment(options, *log);
    model = experiment.model;
    dlrm::BatchReader reader{*log, experiment.train.learn_from, model.batch, model.rows};
    while (batches.size() < batches_in_sample) batches.push_back(*reader.next());
  }
};

std::vector<Row> fits_overhead() {
  const Task task;
  dlrm::TieredMemory tiered_memory{{.fast = {}, .threads = static_cast<unsigned>(omp_get_max_threads())},
                                   task.model};
  dlrm::PlainMemory plain_memory;
  dlrm::Dlrm tiered{tiered_memory, task.model};
  dlrm::Dlrm plain{plain_memory, task.model};
  const Pair pair = time_pair([&] { learn(tiered, task.batches); }, [&] { learn(plain, task.batches); }, 25);
  return {timed_row({.id = "fits.overhead",
                     .what = "a training step of the DLRM, batch of 1024",
                     .unit = "ms",
                     .baseline = "plain memory",
                     .reach = "<= 1.02"},
                    pair, 1e3 / batches_in_sample, [](const Row& r) { return r.ratio <= 1.02; })};
}

std::vector<Row> record_overhead() {
  const Task task;
  const dlrm::TieredOptions options{.fast = {}, .threads = static_cast<unsigned>(omp_get_max_threads())};
  const Recorded recorded;
  dlrm::TieredMemory recorded_memory{options, task.model};
  recorded.stop();
  dlrm::TieredMemory memory{options, task.model};
  dlrm::Dlrm ours{recorded_memory, task.model};
  dlrm::Dlrm theirs{memory, task.model};
  const Pair pair = time_pair([&] { learn(ours, task.batches); }, [&] { learn(theirs, task.batches); }, 25);
  return {timed_row({.id = "record.dlrm",
                     .what = "a training step of the DLRM, batch of 1024, recorded",
                     .unit = "ms",
                     .baseline = "not recorded",
                     .reach = "<= 1.02"},
                    pair, 1e3 / batches_in_sample, [](const Row& r) { return r.ratio <= 1.02; })};
}

/// Measures the peak of tiers with a tenth of the tables fast, over that of plain memory. Rows in both tiers count once.
Row memory_overhead(std::size_t dim) {
  dlrm::Options options;
  options.table_bytes = "1GB";
  options.dim = dim;
  omp_set_num_threads(static_cast<int>(dlrm::threads_of(options)));
  const auto log = make_log(options);
  const auto experiment = make_experiment(options, *log);
  const auto tables = bytes_of_tables(experiment.model);
  dlrm::TieredMemory tiered_memory{{.fast = {tables.count / 10},
                                    .slow = tiers::emulated("cxl", {tables.count / 4 * 5}),
                                    .threads = static_cast<unsigned>(omp_get_max_threads())},
                                   experiment.model};
  dlrm::PlainMemory plain_memory;
  dlrm::Dlrm tiered{tiered_memory, experiment.model};
  dlrm::Dlrm plain{plain_memory, experiment.model};
  dlrm::BatchReader reader{*log, experiment.train.learn_from, experiment.model.batch, experiment.model.rows};
  std::vector<dlrm::Batch> batches;
  while (batches.size() < 4 * batches_in_sample) batches.push_back(*reader.next());
  learn(tiered, batches);
  learn(plain, batches);
  const auto mib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  const auto peak = tiered_memory.traffic().peak_bytes, doubled = tiered_memory.doubled().count;
  const auto plain_peak = plain_memory.traffic().peak_bytes;
  const double ratio = 1 + overhead_share(peak, doubled, plain_peak);
  return {.id = "memory.overhead",
          .what = fmt::format("peak of a DLRM with 1 GB of tables, a tenth fast, {} values a row", dim),
          .value = mib(peak - doubled),
          .unit = "MiB",
          .baseline = "plain memory",
          .baseline_value = mib(plain_peak),
          .ratio = ratio,
          .reach = "<= 1.03",
          .reached = ratio <= 1.03};
}
// A map of 4 bytes a row and 32 bytes a slot take 5 % of the narrowest rows and 1.4 % of the widest.
std::vector<Row> memory_overheads() {
  return {memory_overhead(32), memory_overhead(64), memory_overhead(128)};
}

/// Prints the share of a step spent looking up rows: the model on plain memory behind an index, alternating with the one
/// without an index, and the tiered one alternating with it.
void print_bound_of_a_map(LargeTask& task, dlrm::Dlrm<dlrm::TieredMemory>& tiered,
                          dlrm::Dlrm<dlrm::PlainMemory>& plain) {
  IndexedMemory memory;
  dlrm::Dlrm indexed{memory, task.model};
  const auto print = [&](const char* what, auto& ours, auto& baseline) {
    const Pair pair = time_pair([&] { learn(ours, task.batches(Side::Ours)); },
                                [&] { learn(baseline, task.batches(Side::Baseline)); }, 25,
                                [&](Side side) { task.read(side); });
    std::printf("bound of dlrm.10pct: %zu values a row, %s: %s\n", task.model.dim, what,
                pair.to_string().c_str());
  };
  print("plain memory behind an index of 4 bytes a row, beside none", indexed, plain);
  print("a tenth fast, beside plain memory behind that index", tiered, indexed);
}

/// Measures a tenth of the tables fast and the rest in memory as slow as CXL, where the CPU uses rows in place.
Row dlrm_10pct(std::size_t dim) {
  LargeTask task{dim};
  const auto tables = bytes_of_tables(task.model);
  dlrm::TieredMemory tiered_memory{{.fast = {tables.count / 10},
                                    .slow = tiers::emulated("cxl", {tables.count / 4 * 5}),
                                    .row_policy = "lfu",
                                    .threads = static_cast<unsigned>(omp_get_max_threads())},
                                   task.model};
  dlrm::PlainMemory plain_memory;
  dlrm::Dlrm tiered{tiered_memory, task.model};
  dlrm::Dlrm plain{plain_memory, task.model};
  const auto ours = [&] { learn(tiered, task.batches(Side::Ours)); };
  const auto theirs = [&] { learn(plain, task.batches(Side::Baseline)); };
  for (int i = 0; i < 40; ++i) {  // until frequent rows are in fast memory
    task.read(Side::Ours);
    ours();
    task.read(Side::Baseline);
    theirs();
  }
  const Pair pair = time_pair(ours, theirs, 25, [&](Side side) { task.read(side); });
  const auto samples = [&](const Timings& t) {
    return static_cast<double>(batches_in_sample * task.model.batch) / t.median();
  };
  print_bound_of_a_map(task, tiered, plain);
  const double ratio = samples(pair.ours) / samples(pair.baseline);
  return checked_row(
      {.id = "dlrm.10pct",
       .what = fmt::format("training with 4 GB of tables of {} values a row, a tenth fast, the rest "
                           "on emulated:cxl",
                           dim),
       .value = samples(pair.ours),
       .unit = "samples/s",
       .baseline = "plain memory",
       .baseline_value = samples(pair.baseline),
       .ratio = ratio,
       .reach = ">= 0.9",
       .reached = ratio >= 0.9},
      pair);
}
std::vector<Row> dlrm_10pct_of_widths() { return {dlrm_10pct(32), dlrm_10pct(64), dlrm_10pct(128)}; }

const bool registered =
    add_rows("fits.overhead", fits_overhead) && add_rows("record.dlrm", record_overhead) &&
    add_rows("memory.overhead", memory_overheads) && add_rows("dlrm.10pct", dlrm_10pct_of_widths);

}  // namespace
}  // namespace tier::bench
