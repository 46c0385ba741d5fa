// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runs.hpp"

#include <fmt/format.h>
#include <tier/core/error.hpp>

#include <algorithm>

#include "common/tier_options.hpp"
#include "networks/networks.hpp"
#include "run/plain_memory.hpp"
#include "run/tiered_memory.hpp"

namespace training {
namespace {

/// The rates that the networks' authors used, or the like.
struct Usual {
  Optimizer optimizer;
  double rate;
};
Usual usual_of(const KnownNetwork& network) {
  if (network.input == InputKind::Text) return {Optimizer::Adam, 0.003};
  const bool normed = !network.name.starts_with("vgg") && network.name != "inception_v4";
  return {Optimizer::Sgd, normed ? 0.1 : 0.01};
}

Learning learning_of(const Options& options, const KnownNetwork& network) {
  const auto optimizer = options.optimizer.empty()    ? usual_of(network).optimizer
                         : options.optimizer == "sgd" ? Optimizer::Sgd
                                                      : Optimizer::Adam;
  return {.optimizer = optimizer, .decay = static_cast<float>(options.decay)};
}

std::int64_t steps_of(const Options& options, const KnownNetwork& network) {
  return options.steps.value_or(network.sequences.steps);
}

NetworkOptions network_options(const Options& options, const KnownNetwork& network, const Data& data) {
  return {.batch = options.batch,
          .channels = data.channels(),
          .image = options.image > 0 ? options.image : data.image(),
          .classes = data.classes(),
          .growth = options.growth,
          .steps = steps_of(options, network),
          .width = options.width.value_or(network.sequences.width)};
}

TrainOptions train_options(const Options& options, const KnownNetwork& network, const Data& data) {
  TrainOptions train{.shape = {.batch = options.batch,
                               .image = options.image > 0 ? options.image : data.image(),
                               .steps = steps_of(options, network)},
                     .rate = static_cast<float>(options.rate.value_or(usual_of(network).rate)),
                     .seed = options.seed};
  const auto epoch = data.training_batches(train.shape);
  if (epoch == 0)
    throw tier::ConfigError{fmt::format("the data has less than one batch of {}", options.batch)};
  train.iterations = options.iterations > 0 ? options.iterations : options.epochs * epoch;
  train.test_batches = std::max<std::uint64_t>(1, train.iterations);  // a short run is not tested for long
  return train;
}

tier::Bytes fast_of(const Experiment& experiment) {
  return sample::parse_fast(experiment.options.fast, {experiment.peak});
}

std::string progress_line(const std::string& name, const TrainState& state) {
  const auto share = static_cast<double>(state.iteration) / static_cast<double>(state.iterations);
  return fmt::format("{}  loss {:.4f}  {:.3g} iterations/s", sample::progress_bar(name, share), state.loss,
                     static_cast<double>(state.iteration) / state.seconds);
}

std::unique_ptr<Memory> make_memory(const std::string& name, const Experiment& experiment) {
  if (name == "plain") return std::make_unique<PlainMemory>();
  const auto& options = experiment.options;
  return std::make_unique<TieredMemory>(
      TieredOptions{.fast = fast_of(experiment),
                    .slow = sample::parse_slow(options.slow, {experiment.peak}),
                    .policy = options.policy,
                    .threads = static_cast<unsigned>(threads_of(options))});
}

}  // namespace

Experiment make_experiment(const Options& options) {
  const auto& network = find_network(options.network);
  auto data = options.data.empty() ? generated_data(network.input, options.seed)
                                   : open_data(options.data, network.input, options.seed);
  auto steps = lower_all(make_networks(network, network_options(options, network, *data)),
                         learning_of(options, network));
  const auto peak = peak_bytes(steps);
  auto train = train_options(options, network, *data);
  Experiment experiment{options, std::move(data), std::move(steps), peak, train};
  experiment.train.ahead = sample::parse_fast(options.ahead, fast_of(experiment)).count;
  return experiment;
}

std::vector<std::string> plan_runs(const Options& options) {
  return options.run.empty() ? run_names() : std::vector{options.run};
}

RunResult make_run(const std::string& name, const Experiment& experiment, sample::TerminalLine& progress,
                   const std::atomic<bool>& stop) {
  const auto memory = make_memory(name, experiment);
  auto result = train(name, experiment.steps, *experiment.data, *memory, experiment.train, stop,
                      [&](const TrainState& state) {
                        if (progress.due()) progress.draw(progress_line(name, state));
                      });
  progress.clear();
  return result;
}

}  // namespace training
