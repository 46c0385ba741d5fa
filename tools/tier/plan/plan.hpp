// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The command `tier plan`: how much fast memory a program needs.
#include <CLI/CLI.hpp>

namespace tier::tool {

void add_plan(CLI::App& app);

}  // namespace tier::tool
