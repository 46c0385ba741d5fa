// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a program prints at its end.
#include <span>
#include <string>
#include <vector>

namespace sample {

using TextRow = std::vector<std::string>;

/// Lines whose cells stand under each other.   \pre  all rows have as many cells as the first
[[nodiscard]] std::string to_lines(std::span<const TextRow> rows);

}  // namespace sample
