// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The results of runs, as a table and as JSON.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/train.hpp"

namespace training {

/// Formats a table. Runs that did not alternate with plain memory are compared with the first run, if that was plain.
[[nodiscard]] std::string to_table(std::span<const RunResult> runs);
/// Formats the share of operands that were in fast memory on time, over some of the iterations, by objects and by bytes.
/// Empty if no run has more than one.
[[nodiscard]] std::string to_locality(std::span<const RunResult> runs);
/// Formats costs of layers for each run that inspected these, and subnormal values for each that inspected values.
[[nodiscard]] std::string to_inspections(std::span<const RunResult> runs);
/// Formats {"runs": [...]}; numbers that are not finite become null.
[[nodiscard]] std::string to_json(std::span<const RunResult> runs);
/// Parses the text of `to_json`.   \throws  `tier::TierError` if the text is malformed
[[nodiscard]] std::vector<RunResult> from_json(std::string_view text);

}  // namespace training
