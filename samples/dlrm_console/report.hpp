// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The results of runs, as a table and as JSON.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlrm_model/results.hpp"

namespace dlrm {

/// Formats the table that ends the program's output.
[[nodiscard]] std::string to_table(std::span<const RunResult> runs);
/// Formats a line for each run whose tables divide fast memory, with each table's part.
[[nodiscard]] std::string to_shares(std::span<const RunResult> runs);
/// Formats {"runs": [...]}; numbers that are not finite become null.
[[nodiscard]] std::string to_json(std::span<const RunResult> runs);
/// Parses the text of `to_json`.   \throws  `tier::TierError` if the text is malformed
[[nodiscard]] std::vector<RunResult> from_json(std::string_view text);

}  // namespace dlrm
