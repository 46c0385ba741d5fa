// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  One run: learning for some iterations, then a test on what was held out.
#include <atomic>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/data.hpp"
#include "run/executor.hpp"
#include "run/memory.hpp"
#include "step/lower.hpp"

namespace training {

/// A network's steps, for runs on any memory.
struct Steps {
  std::vector<Step> training;  ///< each iteration takes one; they differ in the length of sequences
  Step prediction;             ///< of the longest
};
/// \param networks  the same but for the length of sequences, the longest last
[[nodiscard]] Steps lower_all(std::span<const Network> networks, const Learning& learning);
/// Of the largest step.
[[nodiscard]] std::size_t peak_bytes(const Steps& steps);
/// What a kernel uses at once.
struct WorkingSet {
  std::string kernel;
  std::size_t bytes = 0;
};
/// The largest of all steps.
[[nodiscard]] WorkingSet largest_working_set(const Steps& steps);

struct TrainOptions {
  BatchShape shape;
  std::uint64_t warm_up =
      0;  ///< iterations before the first: what is learned in them, and what they take, is forgotten
  std::uint64_t iterations = 0;
  float rate = 0.1F;  ///< at its highest: it rises for a tenth of the iterations, then falls to 0 as a cosine
  std::uint64_t seed = 1;
  Budget budget{};               ///< `hints_of`
  bool recompute = false;        ///< `with_recomputation`
  std::size_t test_batches = 0;  ///< at most
  Inspection inspection{};       ///< of learning
};

/// Which of `count` steps one iteration takes: in an order that the seed tells.
[[nodiscard]] std::size_t step_of(std::size_t count, std::uint64_t seed, std::uint64_t iteration);
/// The rate of one iteration.
[[nodiscard]] float rate_of(const TrainOptions& options, std::uint64_t iteration);

struct RunResult {
  std::string name;
  std::string fast{};  ///< as it was asked for, or "all"; of `all_slow` "none", or what a kernel needs
  std::uint64_t fast_bytes = 0;  ///< of the tier, which may be raised to what a kernel uses at once
  bool complete = true;          ///< not interrupted
  std::uint64_t iterations = 0;
  double seconds_per_iteration = std::numeric_limits<double>::quiet_NaN();  ///< the median
  /// The quartiles of iterations' times.
  double low_seconds = std::numeric_limits<double>::quiet_NaN();
  double high_seconds = std::numeric_limits<double>::quiet_NaN();
  /// The same of plain memory, whose iterations were in turns with these; NaN if none were. Of a run on plain memory its own.
  double plain_seconds_per_iteration = std::numeric_limits<double>::quiet_NaN();
  double learning_s = 0;
  double compute_s = 0;                                                 ///< of that: in kernels
  double loss = std::numeric_limits<double>::quiet_NaN();               ///< of the last iteration
  double training_accuracy = std::numeric_limits<double>::quiet_NaN();  ///< over the last epoch, or less
  double test_loss = std::numeric_limits<double>::quiet_NaN();
  double accuracy = std::numeric_limits<double>::quiet_NaN();  ///< of the test
  /// Of each iteration's loss and of every parameter: equal for runs that computed the same.
  std::optional<std::uint64_t> checksum{};
  Traffic traffic;  ///< of learning
  /// Of each iteration: which of its operands were in fast memory in time.
  std::vector<Operands> operands{};
  std::vector<LayerCost> layers{};            ///< if they are inspected
  std::optional<std::uint64_t> subnormals{};  ///< written by kernels, if values are inspected
  std::vector<RunResult> variants{};          ///< of which this is the fastest
};

/// Against plain memory in turns with it, or else against another run, if there is one; NaN against none.
[[nodiscard]] double slowdown_of(const RunResult& run, const RunResult* plain);

/// What a run's time is bounded by: the longer of computing and moving, if the other was hidden behind it.
enum class Bound : std::uint8_t {
  Compute,
  Io,
  Neither,  ///< it computed and waited for more than 1.15 of the longer
  Unknown   ///< for how long it waited is not known, or nothing was computed
};
[[nodiscard]] Bound bound_of(const RunResult& run);

/// Told after each iteration.
struct TrainState {
  std::uint64_t iteration, iterations;
  double loss, seconds;
};
using OnIteration = std::function<void(const TrainState&)>;

/// \param stop      ends the run early, with what was reached
/// \param in_turns  learns the same, iteration by iteration in turns with it, so that both have the machine in the same
///                  moments: on plain memory, what the run is to be compared with. Not tested.
[[nodiscard]] RunResult train(std::string name, const Steps& steps, const Data& data, Memory& memory,
                              const TrainOptions& options, const std::atomic<bool>& stop,
                              const OnIteration& on_iteration = {}, Memory* in_turns = nullptr);

}  // namespace training
