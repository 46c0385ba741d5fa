// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A program whose standard input, output or errors are closed.
#include <tier/core/export.hpp>

namespace tier {

/// Takes the places of standard input, output and errors where they are closed, so that no file that the program opens later
/// gets one of them, and what is printed there is not written into that file. Reading and writing there fail as before.
/// libtier's own files never get them; this is for those that the program and other libraries open.
/// \threadsafety  For the beginning of `main`, before other threads begin.
TIER_EXPORT void hold_standard_streams() noexcept;

}  // namespace tier
