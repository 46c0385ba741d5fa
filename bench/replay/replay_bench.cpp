// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: how many events per second does a replay process, with very many live objects?
#include "harness/rows.hpp"

#include <tier/replay/replay.hpp>
#include <tier/runtime/policies.hpp>

#include <benchmark/benchmark.h>
#include <array>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tier::bench {
namespace {

using namespace tier::literals;

constexpr std::size_t alive = 1'000'000, kernels = 500'000;
constexpr auto size = 64_KiB;

/// Returns a trace of small kernels over a million objects, with nine of ten operands among the newest. Each kernel reads
/// two objects, makes one and ends another.
trace::Trace dense_trace() {
  using namespace trace;
  Trace trace;
  std::mt19937_64 random{42};
  std::vector<TensorIndex> live(alive);
  std::uint64_t id = 0;
  for (auto& t : live) t = trace.declare(id++, size, TensorKind::Parameter, "");
  std::size_t oldest = 0;
  for (std::size_t k = 0; k < kernels; ++k) {
    const auto any = [&] {
      const auto back = random() % 10 != 0 ? random() % (alive / 20) : random() % alive;
      return live[(oldest + alive - 1 - back) % alive];
    };
    std::array<trace::Operand, 3> operands{{{size, any(), Role::Reads}, {size, any(), Role::Reads}, {}}};
    const std::size_t reads = operands[0].tensor == operands[1].tensor ? 1 : 2;
    const auto made = trace.declare(id++, size, TensorKind::Activation, "");
    operands.at(reads) = {size, made, Role::Creates};
    trace.add_kernel("add", Phase::Forward, 0, std::span{operands}.first(reads + 1));
    trace.add_retire(std::vector{std::exchange(live[oldest], made)});
    oldest = (oldest + 1) % alive;
  }
  trace.add_end_of_iteration();
  return trace;
}

Row rate_row(const trace::Trace& trace, const std::string& policy, double share_fast) {
  const auto& machine = *replay::find_machine("server");
  const std::vector<replay::SimulatedTier> tiers{
      {"ddr5", Bytes{static_cast<std::uint64_t>(share_fast * alive) * size.count}},
      {"cxl", 2 * alive * size}};
  const auto make = [&](const FutureUses&) { return make_policy(policy); };
  std::uint64_t events = 0;
  const auto ours = [&] {
    events = replay::run(trace, machine, tiers, make, {.passes = 1, .asynchronous = false}).events;
  };
  const auto walk = [&] {  // the cost of any tool that looks at every operand
    std::uint64_t sum = 0;
    for (const auto event : trace.events())
      if (event.kind == trace::EventKind::Kernel)
        for (const auto& o : trace.operands(trace.kernel(event))) sum += trace.tensor(o.tensor).size.count;
    benchmark::DoNotOptimize(sum);
  };
  const Pair pair = time_pair(ours, walk);
  const double rate = static_cast<double>(events) / pair.ours.median();
  const double walked = static_cast<double>(events) / pair.baseline.median();
  return checked_row({.id = "replay.rate",
                      .what = "10^6 live objects, " + std::to_string(static_cast<int>(100 * share_fast)) +
                              " % of them fast, " + policy,
                      .value = rate / 1e6,
                      .unit = "M events/s",
                      .baseline = "walking over the trace",
                      .baseline_value = walked / 1e6,
                      .ratio = rate / walked,
                      .reach = ">= 1 M events/s",
                      .reached = rate >= 1e6},
                     pair);
}

std::vector<Row> replay_rate() {
  const auto trace = dense_trace();
  return {rate_row(trace, "hint_aware", 1.5), rate_row(trace, "hint_aware:mode=LM", 0.25),
          rate_row(trace, "lru", 0.25)};
}

const bool registered = add_rows("replay.rate", replay_rate);

}  // namespace
}  // namespace tier::bench
