// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/replay_frame.hpp"

#include <tier/core/error.hpp>

#include <algorithm>
#include <utility>

#include "replay/lower_bound.hpp"
#include "replay/tiers_of.hpp"

namespace tier::replay {
namespace {

/// Returns the machine, checked before anything is made of it.
const Machine& checked(const Machine& machine, unsigned passes) {
  if (passes == 0) throw ConfigError{"a replay must go over its trace at least once"};
  machine.check();
  return machine;
}

/// Refuses a trace for which sums of sizes and times could overflow.
trace::Summary checked(const trace::Summary& summary) {
  constexpr Bytes most{std::size_t{1} << 56};
  if (summary.peak > most)
    throw ConfigError{"a trace with " + to_string(summary.peak) +
                      " alive at once is too large to replay: at most " + to_string(most) + " are allowed"};
  return summary;
}

double share(double part, double all) { return all > 0 ? part / all : 1; }

}  // namespace

ReplayFrame::ReplayFrame(const trace::Trace& trace, const Machine& machine,
                         const std::vector<SimulatedTier>& tiers, unsigned passes)
    : trace_{trace},
      tiers_{in_order(tiers, checked(machine, passes))},
      devices_{devices_of(tiers_, machine)},
      costs_{trace, machine, devices_},
      recorded_{trace},
      passes_{passes},
      summary_{checked(trace::summarise(trace))},
      steps_{static_cast<double>(std::max<std::uint64_t>(1, summary_.iterations))},
      iterations_{std::max(1U, passes - 1) * steps_} {}

void ReplayFrame::check_time(double ns) {
  if (!(ns < static_cast<double>(VirtualClock::latest)))
    throw ConfigError{"the trace takes longer than 146 years, the longest time of a replay"};
}

void ReplayFrame::add(const Demand& demand, KernelCounts& counts) const noexcept {
  for (std::size_t t = 0; t < tiers_.size(); ++t) {
    counts.demand.read[t] += demand.read[t];
    counts.demand.written[t] += demand.written[t];
  }
}

Result ReplayFrame::result(const KernelCounts& from, const KernelCounts& to) const {
  Result r;
  for (std::size_t t = 0; t < tiers_.size(); ++t) {
    Traffic traffic;
    traffic.tier = tiers_[t].device;
    traffic.read = traffic.read_by_kernels = whole_mean(to.demand.read[t], from.demand.read[t]);
    traffic.written = traffic.written_by_kernels = whole_mean(to.demand.written[t], from.demand.written[t]);
    r.traffic.push_back(std::move(traffic));
  }
  r.inputs_fast_share = share(to.inputs_fast - from.inputs_fast, to.inputs - from.inputs);
  r.outputs_fast_share = share(to.outputs_fast - from.outputs_fast, to.outputs - from.outputs);
  r.peak = summary_.peak;
  r.lower_bound =
      lower_bound(trace_, costs_, recorded_, devices_, tiers_.front().size, summary_.peaks, moves_in_parts_) /
      steps_;
  r.events = trace_.events().size() * passes_;
  return r;
}

}  // namespace tier::replay
