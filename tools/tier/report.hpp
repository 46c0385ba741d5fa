// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The command `tier report`: a trace as a page, or for a timeline viewer.
#include <CLI/CLI.hpp>

namespace tier::tool {

/// Adds the command `report`, which runs when the command line has been parsed.
void add_report(CLI::App& app);

}  // namespace tier::tool
