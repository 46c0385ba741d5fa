// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The command `tier paper`.
#include <CLI/CLI.hpp>

namespace tier::tool {

/// Adds the command `paper`. If the samples are not built, it says so when it is called.
void add_paper(CLI::App& app);

}  // namespace tier::tool
