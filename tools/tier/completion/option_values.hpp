// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The values that options and positionals take, for shell completion.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tier::tool {

/// Possible values, read from the type that help shows: `{a,b}` of a check, `a|b`, or FILE.
struct Values {
  std::vector<std::string> words;
  bool files = false;
};
[[nodiscard]] Values values_of(const CLI::Option& option);

[[nodiscard]] bool takes_value(const CLI::Option& option);

/// Returns the option's names, with their dashes.
[[nodiscard]] std::vector<std::string> names_of(const CLI::Option& option);

}  // namespace tier::tool
