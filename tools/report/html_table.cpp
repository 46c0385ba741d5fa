// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "html_table.hpp"

#include "format.hpp"

namespace tier::tool::report {

void HtmlTable::add(const std::vector<std::string>& cells, double share, std::size_t share_column) {
  rows_ += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool shared = share > 0 && i == share_column;
    std::string kind = columns_[i].number ? "number" : "";
    if (shared) kind += " share";
    rows_ += kind.empty() ? "<td" : "<td class=\"" + kind + "\"";
    if (shared) rows_ += " style=\"--share:" + human_number(100 * share, 3) + "%\"";
    rows_ += ">" + escape_name(cells[i]) + "</td>";
  }
  rows_ += "</tr>\n";
}

std::string HtmlTable::html(std::string_view rest) const {
  std::string html = "<div class=\"scroll\"><table><thead><tr>";
  for (const auto& column : columns_)
    html += (column.number ? "<th class=\"number\">" : "<th>") + escape(column.title) + "</th>";
  html += "</tr></thead><tbody>\n" + rows_ + "</tbody></table></div>\n";
  return rest.empty() ? html : html + "<p class=\"how\">" + escape(rest) + "</p>\n";
}

}  // namespace tier::tool::report
