// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The learning tasks that several measurements of training share.
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
#include "trainer/executor.hpp"
#include "trainer/plain_memory.hpp"
#include "trainer/tiered_memory.hpp"
#include "training/runs.hpp"

namespace tier::bench {

/// Arguments of tier-train.
using Workload = std::vector<std::string>;

/// ReDL's networks on generated data, with images and sequences so large that a step takes 1 GB. The LSTM's model is as
/// large as ReDL's, 106 MB (its Table II). It computes a sequence in pieces of five characters: one kernel for all would
/// use half of the peak, which a fast tier of a fifth cannot hold.
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
  /// Returns the time in kernels so far, without waits.
  [[nodiscard]] double compute_seconds() const { return executor_.compute_seconds(); }

 private:
  const training::Experiment& experiment_;
  training::Parameters parameters_;
  training::Executor executor_;
  std::uint64_t next_ = 0;
};

/// True if bytes move ahead with the current number of compute threads.
inline bool ahead(const training::TieredOptions& options) {
  return training::moves_ahead(options, static_cast<std::size_t>(omp_get_max_threads()),
                               static_cast<std::size_t>(omp_get_num_procs()));
}

/// The times of a step: in kernels, while something moved, and while kernels waited for that.
struct Taken {
  double compute_s = 0, io_s = 0, stalled_s = 0;
  Bytes in{}, out{};  ///< moved to and from fast memory
};

/// Learns in tiers and measures its steps.
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
  /// Returns medians of times and means of bytes, over all steps but the first, which is not timed.
  /// \pre  there are at least two steps
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
  Pair pair;    ///< steps alternating with those on plain memory
  Taken taken;  ///< by a step of ours
};
inline Learned learn(const training::Experiment& experiment, const training::TieredOptions& options) {
  TieredLearner ours{experiment, options};
  training::PlainMemory plain;
  Learner theirs{experiment, plain, {}};
  const auto pair = time_pair([&] { ours.step(); }, [&] { theirs.step(); }, repeats);
  return {pair, ours.taken()};
}

/// How often both sides allocate their memory anew, for equally many pairs each: kernels vary by some percent with the
/// placement of pages, which cannot be chosen.
inline constexpr int places = 3;

/// Measures ours on all threads but `left`, which are for movers, and plain memory on all. oneDNN prepares kernels for a
/// number of threads, so each side has its own.
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

/// Leaves a core to movers, on both sides of a measurement: with few cores, copies slow all of them down.
/// \param measure  gets the words of a row for the compute threads
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

/// The slow tier's kind.
enum class Slow { Memory, File };

inline std::string folder() {
  const char* const named = std::getenv("TIER_BENCH_DIR");
  return named != nullptr ? named : ".";
}

/// Tiers with a fifth of the peak in fast memory, or more if kernels could not run with that.
struct Fifth {
  training::TieredOptions options;
  std::string words;  ///< describes the tiers in a row
  bool more = false;  ///< more than a fifth
};

/// \throws  `ConfigError` if there is no direct I/O, without which a file's blocks would stay in memory
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

/// Words a mark that was set for a fifth.
inline std::string mark_of(const Fifth& fifth, const std::string& mark) {
  return fifth.more ? mark + " at a fifth" : mark;
}

}  // namespace tier::bench
