// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: what does a training step of the DLRM pay for libtier while all its data fits fast memory?
#include "harness/rows.hpp"

#include <benchmark/benchmark.h>
#include <omp.h>
#include <vector>

#include "plain_memory.hpp"
#include "runs.hpp"
#include "tiered_memory.hpp"

namespace tier::bench {
namespace {

constexpr std::size_t batches_in_sample = 8;
constexpr std::size_t lookahead = 2;

/// The model and batches of `tier-dlrm` with its defaults: 8 tables of 100,000 rows of 32 floats, 8 ids of each.
struct Task {
  std::unique_ptr<dlrm::Log> log;
  dlrm::ModelOptions model;
  std::vector<dlrm::Batch> batches;

  Task() {
    dlrm::Options options;
    omp_set_num_threads(static_cast<int>(dlrm::threads_of(options)));
    log = make_log(options);
    const auto experiment = make_experiment(options, *log);
    model = experiment.model;
    dlrm::BatchReader reader{*log, experiment.train.learn_from, model.batch, model.rows};
    while (batches.size() < batches_in_sample) batches.push_back(*reader.next());
  }
};

/// Learns from the batches as the program does: those ahead are announced, and their rows asked for.
template <class Memory>
void learn(dlrm::Dlrm<Memory>& model, const Task& task) {
  for (std::size_t i = 1; i < lookahead; ++i) model.prefetch(task.batches[i]);
  for (std::size_t i = 0; i < task.batches.size(); ++i) {
    if (i + lookahead < task.batches.size()) model.prefetch(task.batches[i + lookahead]);
    benchmark::DoNotOptimize(model.train(task.batches[i]));
  }
}

std::vector<Row> fits_overhead() {
  const Task task;
  dlrm::TieredMemory tiered_memory{{.fast = {}, .threads = static_cast<unsigned>(omp_get_max_threads())},
                                   task.model};
  dlrm::PlainMemory plain_memory;
  dlrm::Dlrm tiered{tiered_memory, task.model};
  dlrm::Dlrm plain{plain_memory, task.model};
  const Pair pair = time_pair([&] { learn(tiered, task); }, [&] { learn(plain, task); }, 25);
  const auto ms = [](const Timings& timings) { return timings.median() / batches_in_sample * 1e3; };
  const double ratio = ms(pair.ours) / ms(pair.baseline);
  return {checked_row({.id = "fits.overhead",
                       .what = "a training step of the DLRM, batch of 1024",
                       .value = ms(pair.ours),
                       .unit = "ms",
                       .baseline = "plain memory",
                       .baseline_value = ms(pair.baseline),
                       .ratio = ratio,
                       .reach = "<= 1.02",
                       .reached = ratio <= 1.02},
                      pair)};
}

const bool registered = add_rows("fits.overhead", fits_overhead);

}  // namespace
}  // namespace tier::bench
