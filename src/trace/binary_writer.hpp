// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Writes a trace as blocks of the binary form.
#include <tier/trace/binary.hpp>
#include <tier/trace/trace.hpp>

#include "core/byte_sink.hpp"

namespace tier::trace {

/// As `write_binary` to a stream; finishes the sink.
void write_binary(const Trace& trace, ByteSink& sink);

}  // namespace tier::trace
