// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What no schedule beats.
#include <tier/core/bytes.hpp>
#include <tier/replay/replay.hpp>
#include <tier/trace/trace.hpp>

#include <vector>

#include "replay/costs.hpp"
#include "replay/recorded.hpp"

namespace tier::replay {

/// Of one pass over the trace, in seconds: all operands fast, or what exceeds the fastest tier at the peak of each
/// iteration has been written to all others at once, but for parameters and gradients, which may have been there. Whether it is read again depends on the
/// trace, and what that takes on the kernel: it is not counted.
/// \param devices  of the tiers, the fastest first   \param fastest  its size
/// \param peaks    of live bytes, of the iterations   \param in_parts  what of each need not be there at once to be used
[[nodiscard]] double lower_bound(const trace::Trace& trace, const Costs& costs, const Recorded& recorded,
                                 const std::vector<const Device*>& devices, Bytes fastest,
                                 const std::vector<Bytes>& peaks, Bytes in_parts);

}  // namespace tier::replay
