// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: how far are hints and background moves ahead of ways that need no change to a program: pages that migrate by
// their use, and the operating system's paging?
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "harness/disk_rates.hpp"
#include "harness/rows.hpp"
#include "trainer/page_migration_memory.hpp"
#include "training/learner.hpp"
#include "training/paging.hpp"

namespace tier::bench {
namespace {

using namespace tier::literals;

/// Turns recomputation off, so that all runs use the same kernels and differ only in what moves.
Workload without_recomputation(Workload workload) {
  workload.insert(workload.end(), {"--recompute", "off"});
  return workload;
}

Row against_page_migration(const Workload& workload) {
  const auto experiment = experiment_of(without_recomputation(workload));
  const auto fifth = a_fifth(experiment, Slow::Memory);
  auto pages = fifth.options;
  pages.policy = "page_migration";
  pages.hints = false;
  TieredLearner ours{experiment, fifth.options};
  training::PageMigrationMemory memory{training::runtime_options(pages)};
  Learner theirs{experiment, memory, {}};
  return timed_row({.id = "train.compare",
                    .what = name_of(workload) + ", " + fifth.words,
                    .unit = "s/iteration",
                    .baseline = "page_migration",
                    .reach = "< 1"},
                   time_pair([&] { ours.step(); }, [&] { theirs.step(); }, repeats), 1,
                   [](const Row& r) { return r.ratio < 1; });
}

/// Runs child processes, one after the other, each under the same memory limit. Each counts with the median of its
/// iterations without the first.
void add_against_paging(std::vector<Row>& rows, Workload workload) {
  const auto what = name_of(workload);
  workload = without_recomputation(std::move(workload));
  workload.insert(workload.end(), {"--fast", "20%", "--slow", "file:" + folder(), "--iterations", "4"});
  const auto experiment = experiment_of(workload);
  const std::atomic<bool> stop{false};
  const training::Paging limited{experiment, stop, TIER_TRAIN};
  const auto ours = limited.run_limited("async");
  const auto iterations = static_cast<double>(ours.iterations);
  const auto of_iteration = [&](std::uint64_t bytes) {
    return Bytes{static_cast<std::size_t>(static_cast<double>(bytes) / iterations)};
  };
  const auto in = of_iteration(ours.traffic.bytes_in), out = of_iteration(ours.traffic.bytes_out);
  const double moving = seconds_for(measure_disk(folder(), mix_of(in, out, 1_MiB, 32)), in, out);
  const double computing = ours.compute_s / iterations;
  const double mark = moving > computing / 2 ? 3 : 1;
  fmt::print(stderr, "{}: {:.3f} s computing; {} read and {} written, which the disk does in {:.3f} s\n",
             what, computing, to_human(in), to_human(out), moving);
  for (const auto& paging : limited.run().variants) {
    const double ratio = paging.seconds_per_iteration / ours.seconds_per_iteration;
    rows.push_back({.id = "train.compare",
                    .what = fmt::format("{}, on a file, {} of memory for the whole program", what,
                                        to_human(limited.limit())),
                    .value = ours.seconds_per_iteration,
                    .unit = "s/iteration",
                    .baseline = paging.name,
                    .baseline_value = paging.seconds_per_iteration,
                    .ratio = ratio,
                    .reach = fmt::format(">= {}", mark),
                    .reached = ratio >= mark});
  }
}

std::vector<Row> compare() {
  std::vector<Row> rows;
  for (const auto& workload : workloads) rows.push_back(against_page_migration(workload));
  rows.push_back(against_page_migration(lstm_in_one_kernel));
  require_direct_io(folder());
  for (const auto& workload : workloads) add_against_paging(rows, workload);
  return rows;
}

const bool registered = add_rows("train.compare", compare);

}  // namespace
}  // namespace tier::bench
