// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tier::tool {

std::string to_lines(std::span<const TextRow> rows) {
  std::string text;
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace tier::tool
