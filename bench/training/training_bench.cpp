// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: how much longer does training take with a fifth of its memory fast, and the rest in slow memory or on a disk?
// And what does libtier cost where all of it is fast, and a recording of that?
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "common/tier_options.hpp"
#include "harness/disk_rates.hpp"
#include "harness/recorded.hpp"
#include "harness/rows.hpp"
#include "run/executor.hpp"
#include "run/plain_memory.hpp"
#include "run/tiered_memory.hpp"
#include "runs.hpp"

namespace tier::bench {
namespace {

using namespace tier::literals;

/// ReDL's, on generated data: images and sequences as large as the step needs to take 1 GB.
const std::vector<std::vector<std::string>> workloads{
    {"resnet50", "--batch", "128", "--image", "72"},
    {"vgg19", "--batch", "64", "--image", "80"},
    {"inception_v3", "--batch", "64", "--image", "136"},
    {"lstm", "--batch", "20", "--width", "1500", "--steps", "100"}};

constexpr int repeats = 9;

training::Experiment experiment_of(const std::vector<std::string>& workload) {
  auto experiment = training::make_experiment(*training::parse_options(workload, std::cout));
  if (experiment.peak < 1'000'000'000)
    fmt::print(stderr, "{} takes {} only\n", workload.front(), to_human(Bytes{experiment.peak}));
  return experiment;
}

/// Learns one batch after the other.
class Learner {
 public:
  Learner(const training::Experiment& experiment, training::Memory& memory, std::size_t prefetch_budget)
      : experiment_{experiment},
        parameters_{experiment.steps.prediction, memory, 1},
        executor_{experiment.steps.training.front(), parameters_, memory, {prefetch_budget, {}}} {}

  void step() {
    const auto number = next_++;
    training::Iteration iteration{.number = number, .seed = 1, .rate = 1e-3F};
    iteration.fill = [&](std::span<float> inputs, std::span<float> labels) {
      experiment_.data->training_batch(experiment_.train.shape, number, inputs, labels);
    };
    executor_.run(iteration);
  }

 private:
  const training::Experiment& experiment_;
  training::Parameters parameters_;
  training::Executor executor_;
  std::uint64_t next_ = 0;
};

training::TieredOptions a_fifth(const training::Experiment& experiment, const TierSpec& slow) {
  return {
      .fast = {experiment.peak / 5}, .slow = slow, .threads = static_cast<unsigned>(omp_get_max_threads())};
}

struct Learned {
  Pair pair;                  ///< steps in turns with those on plain memory
  training::Traffic traffic;  ///< of ours, in those that were timed
};
Learned learn(const training::Experiment& experiment, const training::TieredOptions& options) {
  training::TieredMemory tiered{options};
  training::PlainMemory plain;
  const auto budget = sample::parse_fast(experiment.options.prefetch_budget, options.fast);
  Learner ours{experiment, tiered, budget.count}, theirs{experiment, plain, 0};
  auto before = tiered.traffic();
  int steps = 0;
  const auto pair = time_pair([&] { ours.step(); }, [&] { theirs.step(); }, repeats,
                              [&](Side side) {
                                if (side == Side::Ours && steps++ == 1)
                                  before = tiered.traffic();  // the first is not timed
                              });
  auto traffic = tiered.traffic();
  traffic.bytes_in -= before.bytes_in;
  traffic.bytes_out -= before.bytes_out;
  return {pair, traffic};
}

std::string name_of(const std::vector<std::string>& workload) {
  return std::accumulate(workload.begin() + 1, workload.end(), workload.front(),
                         [](const std::string& a, const std::string& b) { return a + " " + b; });
}

std::vector<Row> in_slow_memory() {
  std::vector<Row> rows;
  double product = 1;
  for (const auto& workload : workloads) {
    const auto experiment = experiment_of(workload);
    const auto slow = tiers::emulated("redl", {experiment.peak + experiment.peak / 4});
    const auto learned = learn(experiment, a_fifth(experiment, slow));
    rows.push_back(timed_row({.id = "train.20pct",
                              .what = name_of(workload) + ", a fifth fast, the rest in ReDL's slow memory",
                              .unit = "s/iteration",
                              .baseline = "plain memory",
                              .reach = "<= 1.096"},
                             learned.pair, 1, [](const Row& r) { return r.ratio <= 1.096; }));
    product *= rows.back().ratio;
  }
  const double mean = std::pow(product, 1.0 / static_cast<double>(workloads.size()));
  rows.push_back({.id = "train.20pct",
                  .what = "the four of them, geometric mean of ratios",
                  .value = mean,
                  .unit = "ratio",
                  .baseline = "plain memory",
                  .baseline_value = 1,
                  .ratio = mean,
                  .reach = "<= 1.05",
                  .reached = mean <= 1.05});
  return rows;
}

std::string folder() {
  const char* const named = std::getenv("TIER_BENCH_DIR");
  return named != nullptr ? named : ".";
}

/// Against the longer of computing on plain memory, in turns, and moving what was moved by a disk that is as busy as it
/// can be.
Row on_disk(const std::vector<std::string>& workload) {
  const auto experiment = experiment_of(workload);
  const auto slow = tiers::file(folder(), {experiment.peak + experiment.peak / 4});
  const auto [pair, traffic] = learn(experiment, a_fifth(experiment, slow));
  const Bytes read{traffic.bytes_in}, written{traffic.bytes_out};
  const auto rates = measure_disk(folder(), mix_of(read, written, 1_MiB, 32));
  const double moving = seconds_for(rates, read, written) / repeats;
  const double learning = pair.ours.median(), computing = pair.baseline.median();
  const double bound = std::max(computing, moving);
  fmt::print(stderr,
             "{}: learning {:.3f} s; on plain memory {:.3f} s; {} read and {} written in {} iterations, each "
             "of which "
             "the disk, {:.0f} MB/s and {:.0f} MB/s at once, does in {:.3f} s\n",
             workload.front(), learning, computing, to_human(read), to_human(written), repeats,
             rates.read * 1e-6, rates.write * 1e-6, moving);
  return checked_row({.id = "train.20pct.file",
                      .what = name_of(workload) + ", a fifth fast, the rest in a file",
                      .value = learning,
                      .unit = "s/iteration",
                      .baseline = moving > computing ? "the disk's rate for what was moved" : "plain memory",
                      .baseline_value = bound,
                      .ratio = learning / bound,
                      .reach = "<= 1.15",
                      .reached = learning <= 1.15 * bound},
                     pair);
}

std::vector<Row> in_a_file() {
  std::vector<Row> rows;
  for (const auto& workload : workloads) rows.push_back(on_disk(workload));
  return rows;
}

std::vector<Row> all_fast() {
  std::vector<Row> rows;
  for (const auto& workload : workloads) {
    const auto experiment = experiment_of(workload);
    const auto learned = learn(experiment, {.fast = {experiment.peak + experiment.peak / 16 + (16 << 20)},
                                            .threads = static_cast<unsigned>(omp_get_max_threads())});
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
  const training::TieredOptions options{.fast = {experiment.peak + experiment.peak / 16 + (16 << 20)},
                                        .threads = static_cast<unsigned>(omp_get_max_threads())};
  const Recorded recording;
  training::TieredMemory recorded_memory{options};
  recording.stop();
  training::TieredMemory memory{options};
  Learner ours{experiment, recorded_memory, 0}, theirs{experiment, memory, 0};
  const auto pair = time_pair([&] { ours.step(); }, [&] { theirs.step(); }, repeats);
  return {timed_row({.id = "record.training",
                     .what = name_of(workload) + ", all fast, recorded",
                     .unit = "s/iteration",
                     .baseline = "not recorded",
                     .reach = "<= 1.02"},
                    pair, 1, [](const Row& r) { return r.ratio <= 1.02; })};
}

const bool registered = add_rows("train.20pct", in_slow_memory) && add_rows("train.20pct.file", in_a_file) &&
                        add_rows("fits.training", all_fast) && add_rows("record.training", recorded);

}  // namespace
}  // namespace tier::bench
