// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What runs have to say: as a table and as JSON.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "run/train.hpp"

namespace training {

/// Runs that were not in turns with plain memory are compared with the first, if it is on plain memory.
[[nodiscard]] std::string to_table(std::span<const RunResult> runs);
/// How the share of operands that were in fast memory in time went, over some of the iterations: by objects, and by bytes.
/// Empty if no run has more than one.
[[nodiscard]] std::string to_locality(std::span<const RunResult> runs);
/// What layers took, for each run that has looked at them; and subnormal values, for each that has looked at values.
[[nodiscard]] std::string to_inspections(std::span<const RunResult> runs);
/// {"runs": [...]}; numbers that are not finite are null.
[[nodiscard]] std::string to_json(std::span<const RunResult> runs);
/// \throws  `tier::TierError` if the text is none of `to_json`
[[nodiscard]] std::vector<RunResult> from_json(std::string_view text);

}  // namespace training
