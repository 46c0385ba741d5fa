// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The results of a sample's runs as JSON: {"runs": [...]}.
#include <fmt/format.h>
#include <tier/core/detail/json_text.hpp>
#include <tier/core/error.hpp>

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace sample {

/// Formats runs as JSON.   \param to_json  converts one run
template <class Run>
[[nodiscard]] std::string runs_to_text(std::span<const Run> runs, auto to_json) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& run : runs) list.push_back(to_json(run));
  return tier::detail::json_text(nlohmann::ordered_json{{"runs", std::move(list)}}) + '\n';
}

/// Parses runs from JSON.   \param from_json  converts one run   \throws  `tier::TierError` if the text holds no runs
template <class Run>
[[nodiscard]] std::vector<Run> runs_from_text(std::string_view text, auto from_json) try {
  std::vector<Run> runs;
  const auto document = nlohmann::ordered_json::parse(text);
  for (const auto& run : document.at("runs")) runs.push_back(from_json(run));
  return runs;
} catch (const nlohmann::json::exception& error) {
  throw tier::TierError{std::make_error_code(std::errc::invalid_argument),
                        fmt::format("results of a run: {}", error.what())};
}

}  // namespace sample
