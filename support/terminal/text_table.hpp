// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Formats the table that a program prints at its end.
#include <span>
#include <string>
#include <vector>

namespace tier::tool {

using TextRow = std::vector<std::string>;

/// Formats rows as lines with aligned columns.   \pre  all rows have as many cells as the first
[[nodiscard]] std::string to_lines(std::span<const TextRow> rows);

}  // namespace tier::tool
