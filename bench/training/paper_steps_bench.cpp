// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: how long does a replay of the papers' largest training steps take, of half a terabyte each?
#include <tier/core/bytes.hpp>
#include <tier/replay/replay.hpp>
#include <tier/replay/two_level.hpp>
#include <tier/runtime/policies.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "harness/rows.hpp"
#include "networks/networks.hpp"
#include "steps/lower.hpp"
#include "steps/trace.hpp"

namespace tier::bench {
namespace {

const std::vector<replay::SimulatedTier> tiers{{"dram", {180'000'000'000}}, {"optane", {1'300'000'000'000}}};

struct LargeStep {
  std::string network;
  training::NetworkOptions options;
};
const std::vector<LargeStep> steps{{"densenet264", {.batch = 1536, .growth = 48}},
                                   {"resnet200", {.batch = 2048}},
                                   {"vgg416", {.batch = 256}}};

void replay_in(const std::string& mode, const trace::Trace& trace) {
  const auto& machine = *replay::find_machine("cachedarrays");
  if (mode.starts_with("2LM")) {
    (void)replay::run_two_level(trace, machine, tiers, {.frees_early = mode == "2LM_M"});
    return;
  }
  const auto policy = mode == "first_touch" ? mode : "hint_aware:free=0,mode=" + mode;
  (void)replay::run(trace, machine, tiers, [&](const FutureUses&) { return make_policy(policy); },
                    {.asynchronous = false, .compacts_after_steps = true, .copies_new_objects = mode == "0"});
}

/// Returns the slowest mode, which stands for all.
std::string slowest(const std::vector<std::string>& modes, const trace::Trace& trace) {
  using clock = std::chrono::steady_clock;
  return std::ranges::max(modes, {}, [&](const std::string& mode) {
    const auto began = clock::now();
    replay_in(mode, trace);
    return clock::now() - began;
  });
}

/// Measures two iterations, of which the second counts.
Row step_row(const LargeStep& step, const trace::Trace& trace, const std::vector<std::string>& modes,
             double reach) {
  const auto mode = slowest(modes, trace);
  const auto ours = [&] { replay_in(mode, trace); };
  const auto making = [&] {
    (void)training::trace_of(
        training::lower_training(training::find_network(step.network).make(step.options), {}),
        step.options.batch);
  };
  return timed_row({.id = "replay.paper",
                    .what = step.network + " at batch " + std::to_string(step.options.batch) + ", " + mode +
                            ", the slowest of " + std::to_string(modes.size()),
                    .unit = "s",
                    .baseline = "making the trace",
                    .reach = "<= " + std::to_string(static_cast<int>(reach)) + " s"},
                   time_pair(ours, making), 1, [&](const Row& row) { return row.value <= reach; });
}

std::vector<Row> replay_paper() {
  std::vector<Row> rows;
  for (const auto& step : steps) {
    const auto network = training::find_network(step.network).make(step.options);
    const auto trace =
        training::trace_of(training::lower_training(network, {.functional = true}), step.options.batch);
    rows.push_back(step_row(step, trace, {"0", "L", "LM", "LMP", "first_touch"}, 2));
    rows.push_back(step_row(step, trace, {"2LM_0", "2LM_M"}, 10));
  }
  return rows;
}

const bool registered = add_rows("replay.paper", replay_paper);

}  // namespace
}  // namespace tier::bench
