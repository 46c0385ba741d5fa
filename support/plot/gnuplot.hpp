// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Runs the program gnuplot.
#include <optional>
#include <string>

namespace tier::tool {

/// Returns gnuplot's output for these commands, without the user's settings.
/// \return  none if there is no gnuplot
/// \throws  `TierError` with gnuplot's error message if it fails
[[nodiscard]] std::optional<std::string> drawn_by_gnuplot(const std::string& commands);

}  // namespace tier::tool
