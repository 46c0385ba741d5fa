// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Writes a report as one self-contained page.
#include <string>
#include <string_view>
#include <vector>

#include "analysis.hpp"
#include "chart.hpp"

namespace tier::tool::report {

/// Returns HTML with its style, its pictures, and a script that is optional. All text of the trace is escaped.
/// \param name  of the trace
[[nodiscard]] std::string to_html(const Report& report, std::string_view name);

/// Numbers the charts in order, and collects their data for the script.
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

// The sections of the page, in order; each is empty if the trace has no data for it.
[[nodiscard]] std::string header_section(const Report& report, std::string_view name);
[[nodiscard]] std::string occupancy_section(const Report& report, Charts& charts);
[[nodiscard]] std::string traffic_section(const Report& report, Charts& charts);
[[nodiscard]] std::string stall_section(const Report& report, Charts& charts);
[[nodiscard]] std::string object_section(const Report& report);
[[nodiscard]] std::string hint_section(const Report& report);
[[nodiscard]] std::string miss_section(const Report& report);
[[nodiscard]] std::string kernel_section(const Report& report);
[[nodiscard]] std::string setting_section(const Report& report);

/// Names a kind of object. A recording infers the kind from uses alone.
[[nodiscard]] std::string_view name_of_kind(const Report& report, std::size_t kind);

}  // namespace tier::tool::report
