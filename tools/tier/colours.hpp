// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Colours, on terminals alone.
#include <fmt/color.h>

#include <cstdio>

namespace tier::tool {

/// The style where `out` is a terminal that has colours, and nobody has set `NO_COLOR`; else none.
[[nodiscard]] fmt::text_style style_on(std::FILE* out, fmt::text_style style);

inline const auto good = fmt::fg(fmt::terminal_color::green);
inline const auto bad = fmt::emphasis::bold | fmt::fg(fmt::terminal_color::red);

}  // namespace tier::tool
