// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "slow_recording.hpp"

#include <tier/replay/replay.hpp>

#include <fmt/format.h>

#include <cstdio>

namespace tier::tool {

void warn_of_slow_recording(const trace::Trace& trace) {
  const auto slow = replay::count_kernels_not_all_fast(trace);
  if (slow > 0)
    fmt::print(
        stderr,
        "tier: {} of {} kernels were recorded with operands that were not in the fastest tier: what these "
        "take is the machine's, not the recording's. One with all in the fastest tier says it\n",
        slow, trace.kernels().size());
}

}  // namespace tier::tool
