// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Builds a table of a page.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tier::tool::report {

/// Builds an HTML table from cells of plain text, which it escapes.
class HtmlTable {
 public:
  struct Column {
    std::string title;
    bool number = false;  ///< aligned right and not wrapped
  };

  explicit HtmlTable(std::vector<Column> columns) : columns_{std::move(columns)} {}

  /// \param cells  one per column   \param share  0 to 1, drawn under the cell of column `share_column`
  void add(const std::vector<std::string>& cells, double share = 0, std::size_t share_column = 0);
  /// \param rest  a sentence on rows that were left out; may be empty
  [[nodiscard]] std::string html(std::string_view rest = {}) const;

 private:
  std::vector<Column> columns_;
  std::string rows_;
};

}  // namespace tier::tool::report
