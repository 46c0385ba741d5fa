// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Shell completion for zsh.
#include <CLI/CLI.hpp>
#include <string>

namespace tier::tool {

/// Returns the text of a file `_tier`, which can go into a folder of `fpath` or be sourced.
[[nodiscard]] std::string zsh_completion(const CLI::App& app);

}  // namespace tier::tool
