// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes a trace of a recording: objects become tensors, one for each of their lives.
#include <tier/trace/text.hpp>
#include <tier/trace/trace.hpp>

#include <string_view>

#include "trace/recorded_events.hpp"

namespace tier::trace {

/// \throws  `TraceError` if the records make no sense, or are beyond the limits
[[nodiscard]] Trace trace_of(const RecordedEvents& recorded, std::string_view name, const ReadLimits& limits);

}  // namespace tier::trace
