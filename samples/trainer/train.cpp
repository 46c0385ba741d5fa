// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trainer/train.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "common/checksum.hpp"
#include "common/hashing.hpp"
#include "steps/liveness.hpp"
#include "trainer/stopwatch.hpp"

namespace training {
namespace {

/// \param share  0.5 for the median
double quantile(std::vector<double> values, double share) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto place = values.begin() + std::lround(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, place);
  return *place;
}

double share(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? std::numeric_limits<double>::quiet_NaN()
                  : static_cast<double>(part) / static_cast<double>(all);
}

class Run {
 public:
  /// \pre  steps, data and memory outlive this
  Run(const Steps& steps, const Data& data, Memory& memory, const TrainOptions& options)
      : steps_{steps},
        data_{data},
        memory_{memory},
        options_{options},
        parameters_{steps.prediction, memory, options.seed},
        epoch_{data.training_batches(options.shape)} {
    for (const auto& step : steps_.training)
      executors_.emplace_back(step, parameters_, memory_,
                              Executor::Options{options_.budget, options_.recompute, options_.inspection});
    begin();
  }

  void warm_up(std::uint64_t number) {
    auto iteration = iteration_of(number);
    executors_[step_of(executors_.size(), options_.seed, number)].run(iteration);
  }
  /// Forgets all results so far and resets the parameters.
  void begin_anew() {
    parameters_.begin_anew();
    for (auto& executor : executors_) executor.forget_costs();
    begin();
  }

  [[nodiscard]] bool has_learned_all() const { return result_.iterations == options_.iterations; }

  TrainState learn() {
    const auto number = result_.iterations;
    if (number % epoch_ == 0) correct_ = rows_ = 0;
    const auto iteration = learn_batch(executors_[step_of(executors_.size(), options_.seed, number)], number);
    correct_ += iteration.correct;
    rows_ += iteration.rows;
    return {result_.iterations, options_.iterations, iteration.loss, result_.learning_s};
  }

  [[nodiscard]] double seconds_per_iteration() const { return quantile(times_, 0.5); }

  RunResult result(std::string name, const std::atomic<bool>& stop) {
    result_.name = std::move(name);
    for (const auto& executor : executors_) add_costs(executor);
    executors_.clear();
    result_.complete = has_learned_all();
    result_.training_accuracy = share(correct_, rows_);
    result_.seconds_per_iteration = seconds_per_iteration();
    result_.low_seconds = quantile(times_, 0.25);
    result_.high_seconds = quantile(times_, 0.75);
    result_.traffic = memory_.traffic().since(begin_);  // before the test and the checksum move anything
    if (result_.complete) test(stop);
    parameters_.add_to(checksum_);
    result_.checksum = checksum_.value();
    return std::move(result_);
  }

 private:
  void add_costs(const Executor& executor) {
    result_.compute_s += executor.compute_seconds();
    executor.add_layer_costs(result_.layers);
    if (options_.inspection.values)
      result_.subnormals = result_.subnormals.value_or(0) + executor.subnormals();
  }

  /// Starts counting the memory's work, after the initialisation of parameters.
  void begin() {
    begin_ = memory_.traffic();
    operands_ = begin_.operands;
  }

  [[nodiscard]] Iteration iteration_of(std::uint64_t number) const {
    Iteration iteration{.number = number, .seed = options_.seed, .rate = rate_of(options_, number)};
    iteration.fill = [this, number](std::span<float> inputs, std::span<float> labels) {
      data_.training_batch(options_.shape, number, inputs, labels);
    };
    return iteration;
  }

  Iteration learn_batch(Executor& executor, std::uint64_t number) {
    auto iteration = iteration_of(number);
    const Stopwatch watch;
    executor.run(iteration);
    times_.push_back(watch.seconds());
    result_.learning_s += times_.back();
    const auto operands = memory_.traffic().operands;
    result_.operands.push_back(operands - std::exchange(operands_, operands));
    checksum_.add(iteration.loss);
    result_.loss = iteration.loss;
    ++result_.iterations;
    return iteration;
  }

  void test(const std::atomic<bool>& stop) {
    Executor executor{
        steps_.prediction, parameters_, memory_, {.inspection = {.values = options_.inspection.values}}};
    const auto batches = std::min<std::uint64_t>(data_.test_batches(options_.shape), options_.test_batches);
    std::uint64_t correct = 0;
    std::uint64_t rows = 0;
    std::uint64_t tested = 0;
    double losses = 0;
    for (std::uint64_t i = 0; i < batches && !stop; ++i) {
      Iteration iteration{.number = i, .seed = options_.seed};
      iteration.fill = [&](std::span<float> inputs, std::span<float> labels) {
        data_.test_batch(options_.shape, i, inputs, labels);
      };
      executor.run(iteration);
      correct += iteration.correct;
      rows += iteration.rows;
      losses += iteration.loss;
      ++tested;
    }
    result_.complete = tested == batches;
    result_.accuracy = share(correct, rows);
    if (tested > 0) result_.test_loss = losses / static_cast<double>(tested);
  }

  const Steps& steps_;
  const Data& data_;
  Memory& memory_;
  TrainOptions options_;
  Parameters parameters_;
  std::vector<Executor> executors_{};
  std::uint64_t epoch_;                   // iterations
  std::uint64_t correct_ = 0, rows_ = 0;  // in this epoch
  std::vector<double> times_;
  sample::Checksum checksum_;
  Traffic begin_;
  Operands operands_;  // up to the previous iteration
  RunResult result_;
};

}  // namespace

Steps lower_all(std::span<const Network> networks, const Learning& learning) {
  Steps steps{.training = {}, .prediction = lower_prediction(networks.back(), learning)};
  for (const auto& network : networks) steps.training.push_back(lower_training(network, learning));
  return steps;
}

std::size_t peak_bytes(const Steps& steps) {
  std::size_t peak = 0;
  for (const auto& step : steps.training) peak = std::max(peak, peak_bytes(step));
  return peak;
}

WorkingSet largest_working_set(const Steps& steps) {
  WorkingSet largest;
  const auto look_at = [&](const Step& step) {
    const auto& kernel = largest_kernel(step);
    const auto bytes = operand_bytes(step, kernel);
    if (bytes > largest.bytes) largest = {kernel.name, bytes};
  };
  look_at(steps.prediction);
  std::ranges::for_each(steps.training, look_at);
  return largest;
}

double slowdown_of(const RunResult& run, const RunResult* plain) {
  if (std::isfinite(run.plain_seconds_per_iteration))
    return run.seconds_per_iteration / run.plain_seconds_per_iteration;
  if (plain == nullptr) return std::numeric_limits<double>::quiet_NaN();
  return run.seconds_per_iteration / plain->seconds_per_iteration;
}

Bound bound_of(const RunResult& run) {
  constexpr double hidden = 1.15;  // our limit, which runs on a disk should reach
  const double compute = run.compute_s;
  const double io = run.traffic.moving_s;
  const double both = compute + run.traffic.stalled_s;
  if (std::isnan(both + io) || compute <= 0) return Bound::Unknown;
  if (both > hidden * std::max(compute, io)) return Bound::Neither;
  return compute >= io ? Bound::Compute : Bound::Io;
}

std::size_t step_of(std::size_t count, std::uint64_t seed, std::uint64_t iteration) {
  return sample::mix(seed, iteration) % count;
}

float rate_of(const TrainOptions& options, std::uint64_t iteration) {
  const auto all = static_cast<double>(options.iterations);
  const double rising = std::max(1.0, all / 10);
  const auto i = static_cast<double>(iteration);
  if (i < rising) return static_cast<float>(options.rate * (i + 1) / (rising + 1));
  const double falling = (i - rising) / std::max(1.0, all - rising);
  return static_cast<float>(options.rate * (1 + std::cos(std::numbers::pi * falling)) / 2);
}

RunResult train(std::string name, const Steps& steps, const Data& data, Memory& memory,
                const TrainOptions& options, const std::atomic<bool>& stop, const OnIteration& on_iteration,
                Memory* in_turns) {
  Run run{steps, data, memory, options};
  std::optional<Run> other;
  if (in_turns != nullptr) {
    auto plainly = options;
    plainly.recompute = false;
    other.emplace(steps, data, *in_turns, plainly);
  }
  for (std::uint64_t i = 0; i < options.warm_up && !stop; ++i) {
    if (other) other->warm_up(i);
    run.warm_up(i);
  }
  if (options.warm_up > 0) {
    if (other) other->begin_anew();
    run.begin_anew();
  }
  while (!run.has_learned_all() && !stop) {
    if (other) other->learn();
    const auto state = run.learn();
    if (on_iteration) on_iteration(state);
  }
  const auto plain = other ? other->seconds_per_iteration() : std::numeric_limits<double>::quiet_NaN();
  other.reset();  // the test does not need its memory
  auto result = run.result(std::move(name), stop);
  result.plain_seconds_per_iteration = plain;
  return result;
}

}  // namespace training
