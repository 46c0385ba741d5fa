// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The options of commands that read a trace.
#include <tier/trace/text.hpp>

#include <CLI/CLI.hpp>
#include <string>

namespace tier::tool {

struct TraceInput {
  std::string path;
  trace::ReadLimits limits;
};

/// Adds the file and the limits of what may be taken in.
/// \param input  outlives the parsing   \param name  of the file in the help
void add_trace_input(CLI::App& command, TraceInput& input, const std::string& name);

}  // namespace tier::tool
