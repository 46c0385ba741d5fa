// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The program gnuplot.
#include <optional>
#include <string>

namespace tier::tool {

/// What gnuplot writes when it is given these commands, without a user's settings.
/// \return  none if there is no gnuplot
/// \throws  `TierError` with what it complains of, if it fails
[[nodiscard]] std::optional<std::string> drawn_by_gnuplot(const std::string& commands);

}  // namespace tier::tool
