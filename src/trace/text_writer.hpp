// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Writes a trace as lines of the text form.
#include <tier/trace/text.hpp>
#include <tier/trace/trace.hpp>

#include "core/byte_sink.hpp"

namespace tier::trace {

/// As `write_text` to a stream; finishes the sink.
void write_text(const Trace& trace, ByteSink& sink, Ending ending);

}  // namespace tier::trace
