// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Ends a program's output.

namespace tier::tool {

/// Flushes `stdout`.
/// \throws  `TierError` if a write fails or has failed before; an earlier failure has no reason left
void flush_standard_output();

}  // namespace tier::tool
