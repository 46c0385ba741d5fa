// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The command `tier probe`: what this machine's tiers are worth, measured.
#include <CLI/CLI.hpp>

namespace tier::tool {

void add_probe(CLI::App& app);

}  // namespace tier::tool
