// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What several measurements of training learn, and how.
#include <fmt/format.h>
#include <omp.h>

#include <cstdlib>
#include <iostream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/tier_options.hpp"
#include "harness/disk_rates.hpp"
#include "harness/rows.hpp"
#include "run/executor.hpp"
#include "run/plain_memory.hpp"
#include "run/tiered_memory.hpp"
#include "runs.hpp"

namespace tier::bench {

/// Arguments of tier-train.
using Workload = std::vector<std::string>;

/// ReDL's, on generated data: images and sequences as large as the step needs to take 1 GB. The LSTM's model is as large as
/// ReDL's, 106 MB (its Table II). It goes through a sequence by five characters at once: all of them in one kernel use half of
/// the peak, which a fast tier of a fifth cannot hold.
inline const std::vector<Workload> workloads{
    {"resnet50", "--batch", "128", "--image", "72"},
    {"vgg19", "--batch", "64", "--image", "80"},
    {"inception_v3", "--batch", "64", "--image", "136"},
    {"lstm", "--batch", "20", "--width", "1312", "--steps", "130", "--steps-at-once", "5"}};
inline const Workload lstm_in_one_kernel{"lstm", "--batch", "20", "--width", "1312", "--steps", "130"};

inline constexpr int repeats = 9;

inline std::string name_of(const Workload& workload) {
  return std::accumulate(workload.begin() + 1, workload.end(), workload.front(),
                         [](const std::string& a, const std::string& b) { return a + " " + b; });
}

inline training::Experiment experiment_of(const Workload& workload) {
  auto experiment = training::make_experiment(*training::parse_options(workload, std::cout));
  if (experiment.peak < 1'000'000'000)
    fmt::print(stderr, "{} takes {} only\n", workload.front(), to_human(Bytes{experiment.peak}));
  return experiment;
}

/// Learns one batch after the other.
class Learner {
 public:
  Learner(const training::Experiment& experiment, training::Memory& memory,
          const training::Executor::Options& options)
      : experiment_{experiment},
        parameters_{experiment.steps.prediction, memory, 1},
        executor_{experiment.steps.training.front(), parameters_, memory, options} {}

  void step() {
    const auto number = next_++;
    training::Iteration iteration{.number = number, .seed = 1, .rate = 1e-3F};
    iteration.fill = [&](std::span<float> inputs, std::span<float> labels) {
      experiment_.data->training_batch(experiment_.train.shape, number, inputs, labels);
    };
    executor_.run(iteration);
  }
  /// What kernels took so far, without what they waited for.
  [[nodiscard]] double compute_seconds() const { return executor_.compute_seconds(); }

 private:
  const training::Experiment& experiment_;
  training::Parameters parameters_;
  training::Executor executor_;
  std::uint64_t next_ = 0;
};

/// Whether bytes move ahead where as many threads compute as now.
inline bool ahead(const training::TieredOptions& options) {
  return training::moves_ahead(options, static_cast<std::size_t>(omp_get_max_threads()),
                               static_cast<std::size_t>(omp_get_num_procs()));
}

/// What a step took: in kernels, while something moved, and while kernels waited for that.
struct Taken {
  double compute_s = 0, io_s = 0, stalled_s = 0;
  Bytes in{}, out{};  ///< moved to fast memory, and from it
};

/// Learns in a memory in tiers, and knows what its steps took.
class TieredLearner {
 public:
  TieredLearner(const training::Experiment& experiment, const training::TieredOptions& options)
      : memory_{options},
        learner_{experiment,
                 memory_,
                 {training::budget_of(experiment, options.fast, ahead(options)),
                  experiment.options.recompute && options.slow.has_value(),
                  {}}},
        before_{so_far()} {}

  void step() {
    learner_.step();
    const auto now = so_far();
    steps_.push_back({now.compute_s - before_.compute_s, now.io_s - before_.io_s,
                      now.stalled_s - before_.stalled_s, now.in - before_.in, now.out - before_.out});
    before_ = now;
  }
  /// Medians of the times and means of the bytes of all steps but the first, which is not timed.
  /// \pre  there are two steps
  [[nodiscard]] Taken taken() const {
    const auto median = [this](double Taken::*member) {
      Timings timings;
      for (std::size_t i = 1; i < steps_.size(); ++i) timings.seconds.push_back(steps_[i].*member);
      return timings.median();
    };
    Taken all{median(&Taken::compute_s), median(&Taken::io_s), median(&Taken::stalled_s)};
    for (std::size_t i = 1; i < steps_.size(); ++i) all.in += steps_[i].in, all.out += steps_[i].out;
    return {all.compute_s, all.io_s, all.stalled_s, all.in / (steps_.size() - 1),
            all.out / (steps_.size() - 1)};
  }

 private:
  [[nodiscard]] Taken so_far() const {
    const auto traffic = memory_.traffic();
    return {learner_.compute_seconds(),
            traffic.moving_s,
            traffic.stalled_s,
            {traffic.bytes_in},
            {traffic.bytes_out}};
  }

  training::TieredMemory memory_;
  Learner learner_;
  Taken before_;
  std::vector<Taken> steps_;
};

struct Learned {
  Pair pair;    ///< steps in turns with those on plain memory
  Taken taken;  ///< by a step of ours
};
inline Learned learn(const training::Experiment& experiment, const training::TieredOptions& options) {
  TieredLearner ours{experiment, options};
  training::PlainMemory plain;
  Learner theirs{experiment, plain, {}};
  const auto pair = time_pair([&] { ours.step(); }, [&] { theirs.step(); }, repeats);
  return {pair, ours.taken()};
}

/// How often both sides take their memory anew, for as many pairs each time: kernels take some % more or less by where its
/// pages are, and nobody chooses these.
inline constexpr int places = 3;

/// Ours computes on all threads but `left`, which has them for what moves bytes; plain memory on all. oneDNN's kernels are
/// made for a number of threads, so that each side has its own.
inline Pair learn_beside(int left, const Workload& workload, const training::TieredOptions& options) {
  const int all = omp_get_max_threads();
  const auto leave = [all](int threads) { omp_set_num_threads(all - threads); };
  leave(left);
  const auto ours_experiment = experiment_of(workload);
  leave(0);
  const auto theirs_experiment = experiment_of(workload);
  Pair pair;
  for (int i = 0; i < places; ++i) {
    leave(left);
    TieredLearner ours{ours_experiment, options};
    leave(0);
    training::PlainMemory plain;
    Learner theirs{theirs_experiment, plain, {}};
    pair += time_pair([&] { ours.step(); }, [&] { theirs.step(); }, repeats,
                      [&](Side side) { leave(side == Side::Ours ? left : 0); });
  }
  leave(0);
  return pair;
}

/// Leaves a core to what moves bytes, on both sides of a measurement: of a few cores, what all of them computing lose to copies.
/// \param measure  given what a row says of who computes
inline std::vector<Row> beside_a_free_core(const char* id, auto&& measure) {
  const int cores = omp_get_num_procs();
  if (cores < 2) {
    fmt::print(stderr, "{}: there is one core alone, and none to leave free\n", id);
    return {};
  }
  const int before = omp_get_max_threads();
  omp_set_num_threads(cores - 1);
  auto rows = measure(fmt::format(", {} of {} cores compute", cores - 1, cores));
  omp_set_num_threads(before);
  return rows;
}

/// Where the slow tier is.
enum class Slow { Memory, File };

inline std::string folder() {
  const char* const named = std::getenv("TIER_BENCH_DIR");
  return named != nullptr ? named : ".";
}

/// Tiers with a fifth of the peak in fast memory; with more where kernels could not run then.
struct Fifth {
  training::TieredOptions options;
  std::string words;  ///< what they are, for a row
  bool more = false;  ///< than a fifth
};

/// \throws  `ConfigError` where files' blocks would not leave memory
inline Fifth a_fifth(const training::Experiment& experiment, Slow slow) {
  if (slow == Slow::File) require_direct_io(folder());
  const Bytes all{experiment.peak}, enough = all / 4 * 5;
  const auto tier = slow == Slow::File ? tiers::file(folder(), enough) : tiers::emulated("redl", enough);
  const auto words = slow == Slow::File ? "the rest in a file" : "the rest in ReDL's slow memory";
  Fifth fifth{{.fast = all / 5, .slow = tier, .threads = static_cast<unsigned>(omp_get_num_procs())},
              fmt::format("a fifth fast, {}", words)};
  const auto least = training::least_fast(experiment, tier);
  if (least <= fifth.options.fast) return fifth;
  const auto largest = training::largest_working_set(experiment.steps);
  fifth.more = true;
  fifth.options.fast = least;
  fifth.words =
      fmt::format("{} ({:.0f} %) fast instead of a fifth, since its kernel {} uses {} at once, {}",
                  to_human(least), 100 * static_cast<double>(least.count) / static_cast<double>(all.count),
                  largest.kernel, to_human(Bytes{largest.bytes}), words);
  return fifth;
}

/// A mark that is set for a fifth.
inline std::string mark_of(const Fifth& fifth, const std::string& mark) {
  return fifth.more ? mark + " at a fifth" : mark;
}

}  // namespace tier::bench
