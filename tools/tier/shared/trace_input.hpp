// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The options of commands that read a trace.
#include <tier/trace/text.hpp>
#include <tier/trace/trace.hpp>

#include <CLI/CLI.hpp>
#include <string>

#include "progress.hpp"

namespace tier::tool {

struct TraceInput {
  std::string path;
  trace::ReadLimits limits;
};

/// Adds the file, and limits on how much of it may be read.
/// \param input  must outlive the parsing   \param name  of the file in help
void add_trace_input(CLI::App& command, TraceInput& input, const std::string& name);

/// Reads the trace and shows progress.   \throws  as `trace::read_file`
[[nodiscard]] trace::Trace read(const TraceInput& input, Progress& progress);

}  // namespace tier::tool
