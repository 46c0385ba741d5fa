// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The command `tier completion`.
#include <CLI/CLI.hpp>

namespace tier::tool {

void add_completion(CLI::App& app);

}  // namespace tier::tool
