// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Which migrations of a trace have only made a further copy.
#include <tier/trace/trace.hpp>

#include <vector>

#include "tiers.hpp"

namespace tier::tool::report {

/// For each migration, by its place among them, whether what moved was used where it had been before. A line does not tell a
/// move from a further copy, such as one that is written behind, nor from one that a store overtook: the next line that
/// tells where the same object or block is does. Where there is none, it is taken to have moved.
[[nodiscard]] std::vector<bool> further_copies(const trace::Trace& trace, const Tiers& tiers);

}  // namespace tier::tool::report
