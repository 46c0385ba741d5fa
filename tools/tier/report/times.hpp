// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  When the events of a trace were.
#include <tier/trace/trace.hpp>

#include <vector>

#include "axis.hpp"

namespace tier::tool::report {

/// Whether a trace has times: one measured kernel or one migration is enough.
[[nodiscard]] bool has_times(const trace::Trace& trace);

/// When each event began, in the order of events. With times, one that has none is at the end of the measured kernel before
/// it, not before what is told before it, and not after what is told next; without, it is at the number of kernels that were
/// before it.
[[nodiscard]] std::vector<Time> times_of(const trace::Trace& trace, bool timed);

/// Of a kernel, the measurement that follows it, if it was measured.
[[nodiscard]] const trace::Measurement* measurement_of(const trace::Trace& trace, std::size_t kernel_event);

/// Where a stretch of time ends.
[[nodiscard]] inline Time end_of(std::chrono::nanoseconds start, std::chrono::nanoseconds duration) noexcept {
  return saturating_sum(start.count(), duration.count());
}

}  // namespace tier::tool::report
