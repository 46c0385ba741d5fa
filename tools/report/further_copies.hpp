// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Finds the migrations of a trace that only made a further copy.
#include <tier/trace/trace.hpp>

#include <vector>

#include "tiers.hpp"

namespace tier::tool::report {

/// Returns for each migration whether the object or block was used next where it had been before. A line does not tell a
/// move from a further copy, such as one that is written behind or that a store overtook. The next line that gives the
/// place of the same object or block does. Without such a line, it counts as moved.
[[nodiscard]] std::vector<bool> further_copies(const trace::Trace& trace, const Tiers& tiers);

}  // namespace tier::tool::report
