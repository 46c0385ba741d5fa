// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Reads a trace from the lines of the text form.
#include <tier/trace/text.hpp>
#include <tier/trace/trace.hpp>

#include <string_view>

#include "core/byte_source.hpp"

namespace tier::trace {

/// As `read_text` of a stream.   \param source  unpacked
[[nodiscard]] Trace read_text(ByteSource& source, std::string_view name, const ReadLimits& limits);

}  // namespace tier::trace
