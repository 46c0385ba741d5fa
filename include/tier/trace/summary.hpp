// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The totals of a trace.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace tier::trace {

/// Says how large a trace is, and how much memory its tensors take at once.
struct Summary {
  std::uint64_t tensors = 0, kernels = 0;
  std::uint64_t iterations = 0;  ///< an unfinished one at the end included
  std::uint64_t events = 0;      ///< kernels included, declarations not
  Bytes peak;                    ///< most bytes alive at once; parameters always, except in recordings
  std::vector<Bytes> peaks;      ///< the same per iteration; parameters from their declaration on
};

/// Walks a trace once, and checks the rules that `read_text` checks.
/// \param name  the trace's name, for errors
/// \throws      `TraceError` with the line at which `write_text` would write the event that breaks a rule
[[nodiscard]] TIER_EXPORT Summary summarise(const Trace& trace, std::string_view name = "trace");

}  // namespace tier::trace
