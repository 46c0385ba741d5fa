// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Finds when the events of a trace happened.
#include <tier/trace/trace.hpp>

#include <vector>

#include "axis.hpp"

namespace tier::tool::report {

/// True if a trace has times: one measured kernel or one migration is enough.
[[nodiscard]] bool has_times(const trace::Trace& trace);

/// Returns when each event began, in order. In a trace with times, an event without one gets the end of the measured kernel
/// before it, but not before an earlier event nor after the next event with a time. In a trace without times, it gets the
/// number of kernels before it.
[[nodiscard]] std::vector<Time> times_of(const trace::Trace& trace, bool timed);

/// Returns the measurement that follows a kernel; null if there is none.
[[nodiscard]] const trace::Measurement* measurement_of(const trace::Trace& trace, std::size_t kernel_event);

/// Returns the end of a stretch of time.
[[nodiscard]] inline Time end_of(std::chrono::nanoseconds start, std::chrono::nanoseconds duration) noexcept {
  return saturating_sum(start.count(), duration.count());
}

}  // namespace tier::tool::report
