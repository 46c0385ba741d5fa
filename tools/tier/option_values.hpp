// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What options and positionals take, for completions.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tier::tool {

/// By its type in the help: `{a,b}` of a check, `a|b`, or FILE.
struct Values {
  std::vector<std::string> words;
  bool files = false;
};
[[nodiscard]] Values values_of(const CLI::Option& option);

[[nodiscard]] bool takes_value(const CLI::Option& option);

/// With their dashes.
[[nodiscard]] std::vector<std::string> names_of(const CLI::Option& option);

}  // namespace tier::tool
