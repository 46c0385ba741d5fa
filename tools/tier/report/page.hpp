// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A report as one page that needs nothing else.
#include <string>
#include <string_view>
#include <vector>

#include "analysis.hpp"
#include "chart.hpp"

namespace tier::tool::report {

/// HTML with its style, its pictures, and a script that only adds to them. All text of the trace is escaped.
/// \param name  of the trace
[[nodiscard]] std::string to_html(const Report& report, std::string_view name);

/// Charts are numbered as they come, and their data collected for the script.
class Charts {
 public:
  explicit Charts(const Report& report) : report_{report} {}

  /// \return  the figure
  [[nodiscard]] std::string add(const Chart& chart);
  [[nodiscard]] nlohmann::json json() const;

 private:
  const Report& report_;
  nlohmann::json all_ = nlohmann::json::array();
};

// The sections of the page, in their order; empty where the trace has nothing for one.
[[nodiscard]] std::string header_section(const Report& report, std::string_view name);
[[nodiscard]] std::string occupancy_section(const Report& report, Charts& charts);
[[nodiscard]] std::string traffic_section(const Report& report, Charts& charts);
[[nodiscard]] std::string stall_section(const Report& report, Charts& charts);
[[nodiscard]] std::string object_section(const Report& report);
[[nodiscard]] std::string hint_section(const Report& report);
[[nodiscard]] std::string miss_section(const Report& report);
[[nodiscard]] std::string kernel_section(const Report& report);
[[nodiscard]] std::string setting_section(const Report& report);

/// Of objects. A recording tells it from their uses alone.
[[nodiscard]] std::string_view name_of_kind(const Report& report, std::size_t kind);

}  // namespace tier::tool::report
