// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Writes a trace in the JSON form of Chrome's trace events, which ui.perfetto.dev opens.
#include <tier/core/output_file.hpp>
#include <tier/trace/trace.hpp>

namespace tier::tool::report {

/// Writes kernels as slices by thread, migrations by pair of tiers, stalls, hints and faults, and the bytes in each tier as
/// counters. If a trace has no times, each kernel lasts a microsecond. The caller finishes the file.
void write_perfetto(const trace::Trace& trace, OutputFile& out);

}  // namespace tier::tool::report
