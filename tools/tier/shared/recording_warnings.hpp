// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Warnings about what a recording lacks.
#include <tier/trace/trace.hpp>

namespace tier::tool {

/// Warns if kernels were recorded with operands in slow memory.
void warn_of_slow_recording(const trace::Trace& trace);

/// Warns if events were lost or the end is missing.
void warn_of_incomplete_recording(const trace::Trace& trace);

}  // namespace tier::tool
