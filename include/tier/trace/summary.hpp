// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a trace has in all.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace tier::trace {

struct Summary {
  std::uint64_t tensors = 0, kernels = 0;
  std::uint64_t iterations = 0;  ///< with one at the end of which the trace ends
  std::uint64_t events = 0;      ///< kernels among them, declarations not
  Bytes peak;                    ///< the most bytes alive at once; parameters always, but in recordings
  std::vector<Bytes> peaks;      ///< likewise, of each iteration; parameters from where they are declared on
};

/// Walks a trace once, and checks the rules that `read_text` checks.
/// \param name  of the trace, for errors
/// \throws      `TraceError` at the line where `write_text` would write what breaks a rule
[[nodiscard]] TIER_EXPORT Summary summarise(const Trace& trace, std::string_view name = "trace");

}  // namespace tier::trace
