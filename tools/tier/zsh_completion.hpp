// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The completion for zsh.
#include <CLI/CLI.hpp>
#include <string>

namespace tier::tool {

/// A file `_tier` for a folder of `fpath`, which may be sourced, too.
[[nodiscard]] std::string zsh_completion(const CLI::App& app);

}  // namespace tier::tool
