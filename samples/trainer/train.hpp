// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes one run: learns for some iterations, then tests on held-out data.
#include <atomic>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "steps/lower.hpp"
#include "trainer/data/data.hpp"
#include "trainer/executor.hpp"
#include "trainer/memory.hpp"

namespace training {

/// A network's steps, for runs on any memory.
struct Steps {
  std::vector<Step> training;  ///< each iteration takes one; they differ in sequence length
  Step prediction;             ///< for the longest sequences
};
/// \param networks  equal except for the sequence length, the longest last
[[nodiscard]] Steps lower_all(std::span<const Network> networks, const Learning& learning);
/// Returns the peak of the largest step.
[[nodiscard]] std::size_t peak_bytes(const Steps& steps);
/// The operands that a kernel uses at once.
struct WorkingSet {
  std::string kernel;
  std::size_t bytes = 0;
};
/// Returns the largest working set of all steps.
[[nodiscard]] WorkingSet largest_working_set(const Steps& steps);

struct TrainOptions {
  BatchShape shape;
  std::uint64_t warm_up = 0;  ///< iterations before the first; what they learn and cost is forgotten
  std::uint64_t iterations = 0;
  float rate = 0.1F;  ///< the maximum: it rises for a tenth of the iterations, then falls to 0 as a cosine
  std::uint64_t seed = 1;
  Budget budget{};               ///< `hints_of`
  bool recompute = false;        ///< `with_recomputation`
  std::size_t test_batches = 0;  ///< at most
  Inspection inspection{};       ///< of learning
};

/// Returns which of `count` steps an iteration takes, in an order that depends on the seed.
[[nodiscard]] std::size_t step_of(std::size_t count, std::uint64_t seed, std::uint64_t iteration);
/// Returns the learning rate of one iteration.
[[nodiscard]] float rate_of(const TrainOptions& options, std::uint64_t iteration);

struct RunResult {
  std::string name;
  std::string fast{};            ///< as asked for, or "all"; for `all_slow` "none", or the needs of a kernel
  std::uint64_t fast_bytes = 0;  ///< of the tier, which may be raised to the largest working set
  bool complete = true;          ///< not interrupted
  std::uint64_t iterations = 0;
  double seconds_per_iteration = std::numeric_limits<double>::quiet_NaN();  ///< the median
  /// Quartiles of the iterations' times.
  double low_seconds = std::numeric_limits<double>::quiet_NaN();
  double high_seconds = std::numeric_limits<double>::quiet_NaN();
  /// The median for plain memory that alternated with this run; NaN without it. A run on plain memory has its own.
  double plain_seconds_per_iteration = std::numeric_limits<double>::quiet_NaN();
  double learning_s = 0;
  double compute_s = 0;                                    ///< in kernels, a part of `learning_s`
  double loss = std::numeric_limits<double>::quiet_NaN();  ///< of the last iteration
  double training_accuracy = std::numeric_limits<double>::quiet_NaN();  ///< over the last epoch, or a part
  double test_loss = std::numeric_limits<double>::quiet_NaN();
  double accuracy = std::numeric_limits<double>::quiet_NaN();  ///< of the test
  /// Covers each iteration's loss and every parameter; equal for runs that computed the same.
  std::optional<std::uint64_t> checksum{};
  Traffic traffic;  ///< while learning
  /// Operands of each iteration.
  std::vector<Operands> operands{};
  std::vector<LayerCost> layers{};            ///< if inspected
  std::optional<std::uint64_t> subnormals{};  ///< written by kernels, if values are inspected
  std::vector<RunResult> variants{};          ///< the runs of which this is the fastest
};

/// Returns the slow-down against plain memory that alternated with the run, or else against another run; NaN without one.
[[nodiscard]] double slowdown_of(const RunResult& run, const RunResult* plain);

/// The bound of a run's time: the longer of computing and moving, if the other was hidden behind it.
enum class Bound : std::uint8_t {
  Compute,
  Io,
  Neither,  ///< computing and waiting took more than 1.15 of the longer
  Unknown   ///< the waiting time is unknown, or nothing was computed
};
[[nodiscard]] Bound bound_of(const RunResult& run);

/// The state that is reported after each iteration.
struct TrainState {
  std::uint64_t iteration, iterations;
  double loss, seconds;
};
using OnIteration = std::function<void(const TrainState&)>;

/// Trains a network.
/// \param stop      ends the run early, with the results so far
/// \param in_turns  plain memory, which learns the same in alternation, iteration by iteration, so that both see the same
///                  state of the machine. It is compared with, but not tested.
[[nodiscard]] RunResult train(std::string name, const Steps& steps, const Data& data, Memory& memory,
                              const TrainOptions& options, const std::atomic<bool>& stop,
                              const OnIteration& on_iteration = {}, Memory* in_turns = nullptr);

}  // namespace training
