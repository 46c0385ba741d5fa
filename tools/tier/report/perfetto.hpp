// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A trace in the JSON form of Chrome's trace events, which ui.perfetto.dev opens.
#include <tier/core/output_file.hpp>
#include <tier/trace/trace.hpp>

namespace tier::tool::report {

/// Kernels as slices for each thread, migrations for each pair of tiers, stalls, hints and faults, and the bytes in each tier
/// as counters; where a trace has no times, each kernel lasts a microsecond. The file is not finished.
void write_perfetto(const trace::Trace& trace, OutputFile& out);

}  // namespace tier::tool::report
