// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The binary form of traces, on streams: smaller and faster to read than text, and what recordings are in.
#include <tier/core/export.hpp>
#include <tier/trace/text.hpp>
#include <tier/trace/trace.hpp>

#include <iosfwd>
#include <string_view>

namespace tier::trace {

/// In the header of a recording that was cut off or goes on still: what is read ends with its last whole block.
inline constexpr std::string_view unfinished_key = "unfinished";

/// In the header of a recording that lacks events, for which there was no room or memory: how many.
inline constexpr std::string_view lost_key = "lost";

/// Reads a trace, or what a recording was of, and checks every rule. It may be packed by gzip or zstd.
/// \param limits  `line` bounds a block, `text` all of them as they are unpacked
/// \throws        `TraceError` for what is malformed, damaged or beyond the limits, and for a trace that is cut off;
///                `TierError` if `in` goes bad
/// \threadsafety  Safe on different streams.
[[nodiscard]] TIER_EXPORT Trace read_binary(std::istream& in, std::string_view name = "trace",
                                            const ReadLimits& limits = {});

/// Writes a trace so that `read_binary` gives an equal one.
/// \throws  `TierError` if `out` goes bad
/// \pre     The trace keeps the rules, as `summarise` checks them, and could be written as text.
TIER_EXPORT void write_binary(const Trace& trace, std::ostream& out);

}  // namespace tier::trace
