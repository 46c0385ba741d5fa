// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Colours for terminal output.
#include <fmt/color.h>

#include <cstdio>

namespace tier::tool {

/// Returns `style` if `out` is a terminal with colours and `NO_COLOR` is not set; otherwise no style.
[[nodiscard]] fmt::text_style style_on(std::FILE* out, fmt::text_style style);

inline const auto good = fmt::fg(fmt::terminal_color::green);
inline const auto bad = fmt::emphasis::bold | fmt::fg(fmt::terminal_color::red);

}  // namespace tier::tool
