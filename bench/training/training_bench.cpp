// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: how much longer does training take with a fifth of its memory fast, and the rest in slow memory or on a disk?
// How much of that is computation that shares its cores with movers? And what does libtier cost if all memory is fast, and
// what does recording that run cost?
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "core/cpus.hpp"
#include "harness/disk_rates.hpp"
#include "harness/recorded.hpp"
#include "harness/rows.hpp"
#include "training/learner.hpp"

namespace tier::bench {
namespace {

using namespace tier::literals;

/// Measures each workload in ReDL's slow memory, and their mean.
/// \param left  threads on which ours does not compute   \param who  words of the row for the compute threads
std::vector<Row> in_slow_memory(const std::string& id, int left, const std::string& who) {
  std::vector<Row> rows;
  const auto ours = left == 0 ? who : fmt::format(", on all cores but {}", left);
  double product = 1;
  for (const auto& workload : workloads) {
    const auto experiment = experiment_of(workload);
    const auto fifth = a_fifth(experiment, Slow::Memory);
    rows.push_back(timed_row({.id = id,
                              .what = name_of(workload) + ", " + fifth.words + ours,
                              .unit = "s/iteration",
                              .baseline = "plain memory" + who,
                              .reach = "<= 1.096"},
                             learn_beside(left, workload, fifth.options), 1,
                             [](const Row& r) { return r.ratio <= 1.096; }));
    product *= rows.back().ratio;
  }
  const double mean = std::pow(product, 1.0 / static_cast<double>(workloads.size()));
  rows.push_back({.id = id,
                  .what = "the four of them, geometric mean of ratios" + ours,
                  .value = mean,
                  .unit = "ratio",
                  .baseline = "plain memory" + who,
                  .baseline_value = 1,
                  .ratio = mean,
                  .reach = "<= 1.05",
                  .reached = mean <= 1.05});
  return rows;
}

/// Uses as many threads as CPUs; ours one less if there are more than a few: kernels wait for their slowest thread, so a
/// thread that shares its CPU with a mover slows all of them.
std::vector<Row> in_redls_memory() {
  const int cores = omp_get_num_procs();
  const bool is_worth_it = cores > static_cast<int>(detail::few_cpus) && omp_get_max_threads() == cores;
  return in_slow_memory("train.20pct", is_worth_it ? 1 : 0, "");
}

std::vector<Row> free_core() {
  constexpr auto* id = "train.free_core";
  return beside_a_free_core(id, [](const std::string& who) { return in_slow_memory(id, 0, who); });
}

/// Compares with the longer of computing on plain memory, alternating, and moving the same bytes with a fully busy disk.
Row on_disk(const std::string& id, const Workload& workload, const std::string& who) {
  const auto experiment = experiment_of(workload);
  const auto fifth = a_fifth(experiment, Slow::File);
  const auto [pair, taken] = learn(experiment, fifth.options);
  const auto rates = measure_disk(folder(), mix_of(taken.in, taken.out, 1_MiB, 32));
  const double moving = seconds_for(rates, taken.in, taken.out);
  const double learning = pair.ours.median(), computing = pair.baseline.median();
  const double bound = std::max(computing, moving);
  fmt::print(stderr,
             "{}: learning {:.3f} s; on plain memory {:.3f} s; {} read and {} written, which "
             "the disk, {:.0f} MB/s and {:.0f} MB/s at once, does in {:.3f} s\n",
             workload.front(), learning, computing, to_human(taken.in), to_human(taken.out),
             rates.read * 1e-6, rates.write * 1e-6, moving);
  return checked_row({.id = id,
                      .what = name_of(workload) + ", " + fifth.words + who,
                      .value = learning,
                      .unit = "s/iteration",
                      .baseline = moving > computing ? "the disk's rate for what was moved" : "plain memory",
                      .baseline_value = bound,
                      .ratio = learning / bound,
                      .reach = mark_of(fifth, "<= 1.15"),
                      .reached = !fifth.more && learning <= 1.15 * bound},
                     pair);
}

std::vector<Row> in_a_file(const std::string& id, const std::string& who) {
  std::vector<Row> rows;
  for (const auto& workload : workloads) rows.push_back(on_disk(id, workload, who));
  return rows;
}

std::vector<Row> in_a_file_on_all_cores() { return in_a_file("train.20pct.file", ""); }

std::vector<Row> in_a_file_with_a_free_core() {
  constexpr auto* id = "train.free_core.file";
  return beside_a_free_core(id, [](const std::string& who) { return in_a_file(id, who); });
}

training::TieredOptions all_fast_options(const training::Experiment& experiment) {
  return {.fast = training::fast_for(experiment.peak),
          .threads = static_cast<unsigned>(omp_get_max_threads())};
}

std::vector<Row> all_fast() {
  std::vector<Row> rows;
  for (const auto& workload : workloads) {
    const auto experiment = experiment_of(workload);
    const auto learned = learn(experiment, all_fast_options(experiment));
    rows.push_back(timed_row({.id = "fits.training",
                              .what = name_of(workload) + ", all fast",
                              .unit = "s/iteration",
                              .baseline = "plain memory",
                              .reach = "<= 1.02"},
                             learned.pair, 1, [](const Row& r) { return r.ratio <= 1.02; }));
  }
  return rows;
}

std::vector<Row> recorded() {
  const auto& workload = workloads.front();
  const auto experiment = experiment_of(workload);
  const auto options = all_fast_options(experiment);
  const Recorded recording;
  training::TieredMemory recorded_memory{options};
  recording.stop();
  training::TieredMemory memory{options};
  Learner ours{experiment, recorded_memory, {}}, theirs{experiment, memory, {}};
  const auto pair = time_pair([&] { ours.step(); }, [&] { theirs.step(); }, repeats);
  return {timed_row({.id = "record.training",
                     .what = name_of(workload) + ", all fast, recorded",
                     .unit = "s/iteration",
                     .baseline = "not recorded",
                     .reach = "<= 1.02"},
                    pair, 1, [](const Row& r) { return r.ratio <= 1.02; })};
}

const bool registered = add_rows("train.20pct", in_redls_memory) && add_rows("train.free_core", free_core) &&
                        add_rows("train.20pct.file", in_a_file_on_all_cores) &&
                        add_rows("train.free_core.file", in_a_file_with_a_free_core) &&
                        add_rows("fits.training", all_fast) && add_rows("record.training", recorded);

}  // namespace
}  // namespace tier::bench
