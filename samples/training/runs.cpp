// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runs.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <tier/core/error.hpp>
#include <tier/runtime/policies.hpp>

#include <algorithm>

#include "common/checked_sizes.hpp"
#include "common/tier_options.hpp"
#include "networks/networks.hpp"
#include "trainer/page_migration_memory.hpp"
#include "trainer/paged_memory.hpp"
#include "trainer/plain_memory.hpp"
#include "trainer/tiered_memory.hpp"

namespace training {
namespace {

/// The learning rates of the networks' authors, or similar ones.
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
          .width = options.width.value_or(network.sequences.width),
          .steps_at_once = options.steps_at_once};
}

TrainOptions train_options(const Options& options, const KnownNetwork& network, const Data& data) {
  TrainOptions train{.shape = {.batch = options.batch,
                               .image = options.image > 0 ? options.image : data.image(),
                               .steps = steps_of(options, network)},
                     .warm_up = options.warm_up.value_or(options.brief ? 0 : 2),
                     .rate = static_cast<float>(options.rate.value_or(usual_of(network).rate)),
                     .seed = options.seed};
  const auto epoch = data.training_batches(train.shape);
  if (epoch == 0)
    throw tier::ConfigError{fmt::format("the data has less than one batch of {}", options.batch)};
  train.iterations =
      options.iterations > 0 ? options.iterations
      : options.brief        ? 1
                      : sample::checked_product({options.epochs, epoch}, "--epochs and batches of the data",
                                                std::uint64_t{1} << 62);
  train.inspection = {.layers = options.layers, .values = options.check_values};
  train.test_batches = options.brief ? 0 : train.iterations;  // the test is no longer than the training
  return train;
}

std::string progress_line(const std::string& name, const TrainState& state) {
  const auto share = static_cast<double>(state.iteration) / static_cast<double>(state.iterations);
  return fmt::format("{}  loss {:.4f}  {:.3g} iterations/s", tier::tool::progress_bar(name, share),
                     state.loss, static_cast<double>(state.iteration) / state.seconds);
}

tier::TierSpec slow_of(const Experiment& experiment) {
  return sample::parse_slow(experiment.options.slow, {experiment.peak});
}

/// True for comparisons and sweeps. A single run fails instead, and its error tells the size it needs.
bool raises_sizes(const Options& options) { return options.sweep || options.compare; }

tier::Bytes smallest_size(const Experiment& experiment) {
  const auto& options = experiment.options;
  return sample::parse_fast(options.sweep ? plan_sweep().back().fast : options.fast, {experiment.peak});
}

/// Keeps everything in slow memory, and uses it there if the CPU can.
class AllSlow final : public tier::Policy {
 public:
  std::string_view name() const noexcept override { return "all_slow"; }
  tier::Placement place(const tier::AllocationEvent&, tier::PolicyContext& context) override {
    return {static_cast<tier::TierIndex>(context.tier_count() - 1), false};
  }
  tier::MissDecision on_miss(const tier::MissEvent&, tier::PolicyContext&) override {
    return {tier::no_tier, true};
  }
};

void register_all_slow() {
  static const bool registered = [] {
    tier::register_policy("all_slow", [](tier::PolicyOptions) { return std::make_unique<AllSlow>(); });
    return true;
  }();
  static_cast<void>(registered);
}

TieredOptions tiered_options(const PlannedRun& planned, const Experiment& experiment) {
  const auto& name = planned.name;
  const auto& options = experiment.options;
  TieredOptions tiered{.fast = fast_of(experiment, planned.fast),
                       .slow = slow_of(experiment),
                       .more = sample::parse_more(options.more),
                       .policy = options.policy,
                       .threads = static_cast<unsigned>(threads_of(options)),
                       .movers = name == "sync" ? 0 : options.movers};
  if (name == "all_fast") {
    tiered.fast = fast_for(experiment.peak);
    tiered.slow.reset();
    tiered.more.clear();
  } else if (name.starts_with("mode_")) {  // the paper's settings
    tiered.policy = "hint_aware:free=0,mode=" + name.substr(5);
    tiered.movers = 0;
  } else if (name == "first_touch" || name == "page_migration") {
    tiered.policy = name;
    tiered.hints = false;
  } else if (name == "all_slow") {
    register_all_slow();
    tiered.policy = name;
    tiered.hints = false;
    tiered.fast = std::max(least_fast(experiment, *tiered.slow),
                           tier::Bytes{largest_working_set(experiment.steps).bytes});
  }
  return tiered;
}

std::unique_ptr<Memory> make_memory(const PlannedRun& planned, const Experiment& experiment) {
  const auto& name = planned.name;
  const auto& options = experiment.options;
  const auto folder =
      options.paging_folder.empty() ? sample::paging_folder(options.slow) : options.paging_folder;
  if (name == "plain") return std::make_unique<PlainMemory>();
  using tier::bench::Paging;
  if (name == "os_paging_default") return std::make_unique<PagedMemory>(folder, Paging::Default);
  if (name == "os_paging_random") return std::make_unique<PagedMemory>(folder, Paging::Random);
  if (name == "os_paging_willneed") return std::make_unique<PagedMemory>(folder, Paging::WillNeed);
  const auto tiered = tiered_options(planned, experiment);
  if (name == "page_migration") return std::make_unique<PageMigrationMemory>(runtime_options(tiered));
  return std::make_unique<TieredMemory>(tiered);
}

/// Makes the plain memory that a run of a comparison or sweep is compared with; none for other runs.
std::unique_ptr<Memory> make_plain_memory(const PlannedRun& planned, const Options& options) {
  if (!(options.compare || options.sweep) || !options.run.empty() || planned.name == "plain") return {};
  return std::make_unique<PlainMemory>();
}

/// True if bytes move ahead of use in a run with prefetches.
bool ahead(const PlannedRun& planned, const Experiment& experiment) {
  if (planned.name.starts_with("os_paging")) return true;
  return moves_ahead(tiered_options(planned, experiment), threads_of(experiment.options),
                     static_cast<std::size_t>(omp_get_num_procs()));
}

/// Returns the bytes of tensors that may be fast.
tier::Bytes fast_bytes(const PlannedRun& planned, const Experiment& experiment) {
  if (planned.name == "plain" || planned.name == "all_fast") return {experiment.peak};
  // If the CPU cannot use the slow tier, room for one kernel's operands and little beside.
  if (planned.name == "all_slow") return least_fast(experiment, slow_of(experiment));
  return fast_of(experiment, planned.fast);
}

std::string shown_size(const PlannedRun& planned, const Experiment& experiment) {
  if (planned.name == "plain" || planned.name == "all_fast") return "all";
  if (planned.name != "all_slow") return planned.fast;
  const auto least = fast_bytes(planned, experiment);
  return least == tier::Bytes{} ? "none" : to_human(least);
}

}  // namespace

tier::Bytes fast_for(std::size_t bytes) { return {bytes + bytes / 16 + (16 << 20)}; }

tier::Bytes least_fast(const Experiment& experiment, const tier::TierSpec& slow) {
  if (slow.kind != tier::TierKind::File) return {};
  constexpr std::size_t shared_blocks = 2 << 20;  // of 64 KiB: one per small operand, of which there are few
  return {largest_working_set(experiment.steps).bytes + shared_blocks};
}

tier::Bytes fast_of(const Experiment& experiment, const std::string& fast) {
  const auto bytes = sample::parse_fast(fast, {experiment.peak});
  return raises_sizes(experiment.options) ? std::max(bytes, least_fast(experiment, slow_of(experiment)))
                                          : bytes;
}

std::string raised_sizes(const Experiment& experiment) {
  const auto& options = experiment.options;
  const auto least = least_fast(experiment, slow_of(experiment));
  if (!raises_sizes(options) || least <= smallest_size(experiment)) return {};
  const auto largest = largest_working_set(experiment.steps);
  return fmt::format(
      "{} raised to {:.0f} %: kernel {} uses {} at once, all of which must be in fast memory{}\n",
      options.sweep ? "smaller sizes were" : "--fast was",
      100 * static_cast<double>(least.count) / static_cast<double>(experiment.peak), largest.kernel,
      tier::to_human(tier::Bytes{largest.bytes}),
      options.network == "lstm" ? "; with --steps-at-once an LSTM's kernels use less" : "");
}

Experiment make_experiment(const Options& options) {
  const auto& network = find_network(options.network);
  auto data = options.data.empty() ? generated_data(network.input, options.seed)
                                   : open_data(options.data, network.input, options.seed);
  auto steps = lower_all(make_networks(network, network_options(options, network, *data)),
                         learning_of(options, network));
  const auto peak = peak_bytes(steps);
  auto train = train_options(options, network, *data);
  return {options, std::move(data), std::move(steps), peak, train};
}

Step make_step(const Options& options) {
  const auto& network = find_network(options.network);
  NetworkOptions chosen{.batch = options.batch, .image = options.image, .growth = options.growth};
  if (!options.data.empty())
    chosen = network_options(options, network, *open_data(options.data, network.input, options.seed));
  else if (network.input == InputKind::Text)
    chosen = network_options(options, network, *generated_data(network.input, options.seed));
  return lower_training(make_networks(network, chosen).back(), learning_of(options, network));
}

std::vector<PlannedRun> plan_runs(const Options& options) {
  if (options.sweep && options.run.empty()) return plan_sweep();
  std::vector<std::string> names{"plain", options.asynchronous ? "async" : "sync"};
  if (options.compare)
    names = {"plain",   "all_fast", "async",       "sync",           "mode_0",   "mode_L",
             "mode_LM", "mode_LMP", "first_touch", "page_migration", "all_slow", "os_paging"};
  if (!options.run.empty()) names = {options.run};
  std::vector<PlannedRun> runs;
  for (auto& name : names) runs.push_back({std::move(name), options.fast});
  return runs;
}

Budget budget_of(const Experiment& experiment, tier::Bytes fast, bool ahead) {
  const auto& asked = experiment.options.prefetch_budget;
  const auto plan = ahead ? moving_ahead : moving_late;
  if (!asked.empty()) return plan(sample::parse_fast(asked, fast).count);
  const auto usable = std::min(fast.count, experiment.peak);
  const auto lacking = experiment.peak - usable;  // at the peak; no more than this need ever be in transit
  const auto bytes =
      usable - std::min(sample::parse_fast(ahead ? "30%" : "15%", {usable}).count, lacking / 2);
  auto budget = plan(bytes);
  budget.forward = std::max(budget.forward, bytes - std::min(bytes, lacking));
  return budget;
}

RunResult make_run(const PlannedRun& planned, const Experiment& experiment,
                   tier::tool::TerminalLine& progress, const std::atomic<bool>& stop) {
  const auto memory = make_memory(planned, experiment);
  auto options = experiment.train;
  options.budget = budget_of(experiment, fast_of(experiment, planned.fast), ahead(planned, experiment));
  options.recompute = experiment.options.recompute && (planned.name == "async" || planned.name == "sync");
  const auto in_turns = make_plain_memory(planned, experiment.options);
  auto result = train(
      planned.name, experiment.steps, *experiment.data, *memory, options, stop,
      [&](const TrainState& state) {
        if (progress.due()) progress.draw(progress_line(planned.name, state));
      },
      in_turns.get());
  if (planned.name == "plain") result.plain_seconds_per_iteration = result.seconds_per_iteration;
  progress.clear();
  result.fast = shown_size(planned, experiment);
  result.fast_bytes = fast_bytes(planned, experiment).count;
  return result;
}

}  // namespace training
