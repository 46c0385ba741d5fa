// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The binary form of traces, on streams: smaller and faster to read than text. Recordings are written in it.
#include <tier/core/export.hpp>
#include <tier/trace/text.hpp>
#include <tier/trace/trace.hpp>

#include <iosfwd>
#include <string_view>

namespace tier::trace {

/// Header key of a recording that was cut off or is still growing: its trace ends with the last whole block.
inline constexpr std::string_view unfinished_key = "unfinished";

/// Header key of a recording that lost events for want of room or memory; the value is how many.
inline constexpr std::string_view lost_key = "lost";

/// Reads a trace, or a recording as a trace, and checks every rule. The input may be packed by gzip or zstd.
/// \param limits  `line` bounds a block, `text` all of them as they are unpacked
/// \throws        `TraceError` if the input is malformed, damaged or beyond the limits, or a trace that is cut off;
///                `TierError` if `in` goes bad
/// \threadsafety  Calls on different streams may run concurrently.
[[nodiscard]] TIER_EXPORT Trace read_binary(std::istream& in, std::string_view name = "trace",
                                            const ReadLimits& limits = {});

/// Writes a trace so that `read_binary` gives an equal one.
/// \throws  `TierError` if `out` goes bad
/// \pre     The trace keeps the rules, as `summarise` checks them, and could be written as text.
TIER_EXPORT void write_binary(const Trace& trace, std::ostream& out);

}  // namespace tier::trace
