// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The command `tier probe`, which measures this machine's tiers.
#include <CLI/CLI.hpp>

namespace tier::tool {

void add_probe(CLI::App& app);

}  // namespace tier::tool
