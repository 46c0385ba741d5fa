// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Protection for programs started with standard input, output or error closed.
#include <tier/core/export.hpp>

namespace tier {

/// Occupies descriptors 0, 1 and 2 if they are closed, so that no file opened later gets one of them and receives what is
/// printed there. Reads and writes on them still fail. libtier's own files never get these descriptors; the call protects
/// files that the program and other libraries open.
/// \threadsafety  Call it at the beginning of `main`, before other threads start.
TIER_EXPORT void hold_standard_streams() noexcept;

}  // namespace tier
