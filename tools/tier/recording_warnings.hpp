// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What recordings do not say.
#include <tier/trace/trace.hpp>

namespace tier::tool {

/// Says so if kernels were recorded with operands in slow memory.
void warn_of_slow_recording(const trace::Trace& trace);

/// Says so if events were lost, or the end is missing.
void warn_of_incomplete_recording(const trace::Trace& trace);

}  // namespace tier::tool
