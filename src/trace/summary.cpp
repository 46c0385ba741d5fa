// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/trace/error.hpp>
#include <tier/trace/summary.hpp>

#include <utility>

#include "core/broken_rule.hpp"
#include "trace/rules.hpp"

namespace tier::trace {
namespace {

void apply(const Trace& trace, Event event, Rules& rules) {
  switch (event.kind) {
    case EventKind::Declaration:
      return rules.declare(event.place);
    case EventKind::Kernel:
      return rules.kernel(trace.operands(trace.kernel(event)));
    case EventKind::Archive:
      return rules.archive(trace.tensors_of(event));
    case EventKind::Retire:
      return rules.retire(trace.tensors_of(event));
    case EventKind::EndOfIteration:
      return rules.end_iteration();
    case EventKind::Measurement:
      return rules.measurement();
    case EventKind::Migration:
    case EventKind::Stall:
    case EventKind::Hint:
    case EventKind::Fault:
    case EventKind::RowAccess:
    case EventKind::Setting:
    case EventKind::Placement:
      return;
  }
}

}  // namespace

Summary summarise(const Trace& trace, std::string_view name) {
  Rules rules{trace};
  std::vector<Bytes> peaks;
  std::uint64_t line = 1;  // that of the header
  for (const auto event : trace.events()) {
    ++line;
    if (event.kind == EventKind::EndOfIteration) peaks.push_back(rules.peak_of_iteration());
    try {
      apply(trace, event, rules);
    } catch (const BrokenRule& broken) {
      throw TraceError{name, line, broken.what()};
    }
  }
  if (peaks.size() < rules.iterations()) peaks.push_back(rules.peak_of_iteration());
  const auto tensors = trace.tensors().size();
  return {.tensors = tensors,
          .kernels = trace.kernels().size(),
          .iterations = rules.iterations(),
          .events = trace.events().size() - tensors,
          .peak = rules.peak(),
          .peaks = std::move(peaks)};
}

}  // namespace tier::trace
