// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "workloads.hpp"

#include <oneapi/dnnl/dnnl.hpp>
#include <tier/trace/summary.hpp>

#include "steps/lower.hpp"
#include "steps/trace.hpp"

namespace tier::tool::paper {
namespace {

/// Limits oneDNN to AVX2, so that all CPUs that have it choose the same layouts and give the same tables.
void fix_layouts() {
  [[maybe_unused]] static const auto outcome = dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
}

}  // namespace

trace::Trace trace_of(const Workload& workload, Differentiation differentiation) {
  const auto& known = training::find_network(workload.network);
  auto options = workload.options;
  if (known.input == training::InputKind::Text) {
    options.steps = known.sequences.steps;
    options.width = known.sequences.width;
  }
  fix_layouts();
  training::Learning learning;
  learning.hidden_scratchpads = true;
  learning.functional = differentiation == Differentiation::Functional;
  return training::trace_of(training::lower_training(known.make(options), learning), options.batch);
}

Bytes peak_of(const trace::Trace& trace) { return trace::summarise(trace).peak; }

}  // namespace tier::tool::paper
