// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "times.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace tier::tool::report {
namespace {

using trace::EventKind;
using trace::Trace;

/// Returns the start that the event's line gives, if any.
std::optional<Time> start_of(const Trace& trace, std::size_t i) {
  const auto event = trace.events()[i];
  switch (event.kind) {
    case EventKind::Kernel:
      if (const auto* const measured = measurement_of(trace, i)) return measured->start.count();
      return {};
    case EventKind::Measurement:
      return trace.measurement(event).start.count();
    case EventKind::Migration:
      return trace.migration(event).start.count();
    case EventKind::Stall:
      return trace.stall(event).start.count();
    case EventKind::Hint:
      return trace.hint(event).start.count();
    case EventKind::Fault:
      return trace.fault(event).start.count();
    case EventKind::RowAccess:
      return trace.row_access(event).start.count();
    case EventKind::Placement:
      return trace.placement(event).start.count();
    case EventKind::Declaration:
    case EventKind::Archive:
    case EventKind::Retire:
    case EventKind::EndOfIteration:
    case EventKind::Setting:
      return {};
  }
  return {};
}

std::vector<Time> numbers_of_kernels(const Trace& trace) {
  std::vector<Time> times;
  times.reserve(trace.events().size());
  Time kernels = 0;
  for (const auto event : trace.events()) {
    times.push_back(kernels);
    if (event.kind == EventKind::Kernel) ++kernels;
  }
  return times;
}

}  // namespace

bool has_times(const Trace& trace) {
  return std::ranges::any_of(trace.events(), [](const auto event) {
    return event.kind == EventKind::Measurement || event.kind == EventKind::Migration;
  });
}

const trace::Measurement* measurement_of(const Trace& trace, std::size_t kernel_event) {
  const auto events = trace.events();
  if (kernel_event + 1 == events.size() || events[kernel_event + 1].kind != EventKind::Measurement)
    return nullptr;
  return &trace.measurement(events[kernel_event + 1]);
}

std::vector<Time> times_of(const Trace& trace, bool timed) {
  if (!timed) return numbers_of_kernels(trace);
  const auto events = trace.events();
  std::vector<Time> times(events.size());
  std::vector<bool> known(events.size());
  Time told = 0, kernel_end = 0;  // the latest so far
  std::vector<Time> least(events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto start = start_of(trace, i);
    known[i] = start.has_value();
    if (start) told = std::max(told, *start);
    if (events[i].kind == EventKind::Measurement) {
      const auto& measured = trace.measurement(events[i]);
      kernel_end = std::max(kernel_end, end_of(measured.start, measured.duration));
    }
    least[i] = told;
    times[i] = start.value_or(std::max(told, kernel_end));
  }
  Time next = std::numeric_limits<Time>::max();
  for (auto i = events.size(); i-- > 0;) {
    if (known[i])
      next = times[i];
    else
      times[i] = std::max(least[i], std::min(times[i], next));
  }
  return times;
}

}  // namespace tier::tool::report
