// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Reads the records of a recording from its blocks, and puts them in the order in which they happened.
#include <tier/trace/text.hpp>
#include <tier/trace/trace.hpp>

#include <string_view>

#include "trace/binary_form.hpp"

namespace tier::trace {

/// Reads a recording as a trace, from the blocks after the header.
/// \throws  `TraceError`, and what `Blocks` throws
[[nodiscard]] Trace read_recording(Blocks& blocks, std::string_view name, const ReadLimits& limits);

}  // namespace tier::trace
