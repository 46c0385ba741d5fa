// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The command `tier info`.
#include <CLI/CLI.hpp>

namespace tier::tool {

/// Adds the command `info`, which runs when the command line has been parsed.
void add_info(CLI::App& app);

}  // namespace tier::tool
