// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A time that no schedule beats.
#include <tier/core/bytes.hpp>
#include <tier/replay/replay.hpp>
#include <tier/trace/trace.hpp>

#include <vector>

#include "replay/costs.hpp"
#include "replay/recorded.hpp"

namespace tier::replay {

/// Returns the least time of one pass over the trace, in seconds: the longer of that with all operands fast and that of
/// writing what exceeds the fastest tier at each iteration's peak to all others at once, except parameters and gradients,
/// which may have been there. Reading them again is not counted: it depends on the trace and the kernel.
/// \param devices  the tiers' devices, the fastest first   \param fastest  the size of the fastest tier
/// \param peaks    live bytes, by iteration   \param in_parts  bytes of each that need not be there at once to be used
[[nodiscard]] double lower_bound(const trace::Trace& trace, const Costs& costs, const Recorded& recorded,
                                 const std::vector<const Device*>& devices, Bytes fastest,
                                 const std::vector<Bytes>& peaks, Bytes in_parts);

}  // namespace tier::replay
