// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The text form of traces, on streams. `docs/traces.md` has the format, `files.hpp` does the same on files.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/trace/error.hpp>
#include <tier/trace/trace.hpp>

#include <iosfwd>
#include <string_view>

namespace tier::trace {

/// Limits beyond which a reader refuses a trace, whatever the trace declares, because none is trusted.
struct ReadLimits {
  Bytes line = 16_MiB;   ///< the longest line
  Bytes text = 64_GiB;   ///< all of the text, unpacked
  Bytes memory = 4_GiB;  ///< of the trace as data; while its arrays grow they may take three times as much
};

/// Reads a trace and checks every rule of the format, line by line. It may be packed by gzip or zstd, which its first
/// bytes tell.
/// \param name  the file's name, for errors
/// \throws      `TraceError` if it is malformed, cut off, damaged or beyond the limits; `TierError` if `in` goes bad
/// \threadsafety  Calls on different streams may run concurrently.
[[nodiscard]] TIER_EXPORT Trace read_text(std::istream& in, std::string_view name = "trace",
                                          const ReadLimits& limits = {});

/// The end of a text: open, or checked by a line E with the counts and a checksum of what comes before.
enum class Ending : bool { Open, Checked };

/// Writes a trace in its canonical form: `read_text` gives an equal one, and writing that gives the same bytes.
/// \throws  `TraceError` for a text that its place cannot hold: one with a line break, or with a blank in a field that
///          ends at a blank; `TierError` if `out` goes bad. Earlier output is then on `out`.
/// \pre     The trace keeps the rules, as `summarise` checks them.
TIER_EXPORT void write_text(const Trace& trace, std::ostream& out, Ending ending = Ending::Checked);

}  // namespace tier::trace
