// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The tables of a report.
#include <span>

#include "analysis.hpp"

namespace tier::tool::report {

/// The kernels, with the tiers of their operands on entry, and the hints that did not help.
struct Story {
  std::vector<KernelRow> kernels;
  std::vector<HintRow> hints;
};

[[nodiscard]] std::vector<MigrationRow> migration_rows(const trace::Trace& trace, const Tiers& tiers);
[[nodiscard]] std::vector<ObjectRow> object_rows(const trace::Trace& trace);
[[nodiscard]] std::vector<StallRow> stall_rows(const trace::Trace& trace);
[[nodiscard]] std::vector<LargeRow> large_rows(const trace::Trace& trace);
/// \param times  of the trace's events
[[nodiscard]] Story story_of(const trace::Trace& trace, const Tiers& tiers, std::span<const Time> times);

}  // namespace tier::tool::report
