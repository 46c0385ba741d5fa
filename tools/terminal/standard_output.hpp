// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The end of a program that has printed something.

namespace tier::tool {

/// Lets what was printed to `stdout` go out.
/// \throws  `TierError` if some of it has not: now, or before, of which no reason is left
void flush_standard_output();

}  // namespace tier::tool
