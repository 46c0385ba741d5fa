// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What the samples' command lines have in common.
#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>
#include <vector>

namespace sample {

/// \param arguments  without the program's name
/// \return           false if the help was asked for, which is on `out` now
/// \throws           `tier::ConfigError` for what `app` does not know, with the hint where its options are listed
bool parse(CLI::App& app, std::vector<std::string> arguments, std::ostream& out);

}  // namespace sample
