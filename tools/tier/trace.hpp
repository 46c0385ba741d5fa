// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The command `tier trace`, which checks and converts traces.
#include <CLI/CLI.hpp>

namespace tier::tool {

/// Adds the command `trace` with its own commands, which run when the command line has been parsed.
void add_trace(CLI::App& app);

}  // namespace tier::tool
