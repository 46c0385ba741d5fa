// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "workloads.hpp"

#include <tier/trace/summary.hpp>

#include "step/lower.hpp"
#include "step/trace.hpp"

namespace tier::tool::paper {

trace::Trace trace_of(const Workload& workload, Differentiation differentiation) {
  const auto& known = training::find_network(workload.network);
  auto options = workload.options;
  if (known.input == training::InputKind::Text) {
    options.steps = known.sequences.steps;
    options.width = known.sequences.width;
  }
  training::Learning learning;
  learning.functional = differentiation == Differentiation::Functional;
  return training::trace_of(training::lower_training(known.make(options), learning), options.batch);
}

Bytes peak_of(const trace::Trace& trace) { return trace::summarise(trace).peak; }

}  // namespace tier::tool::paper
