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

/// How much a reader takes in before it refuses a trace, whatever the trace declares: none is trusted.
struct ReadLimits {
  Bytes line = 16_MiB;   ///< the longest
  Bytes text = 64_GiB;   ///< all of it, as it is unpacked
  Bytes memory = 4_GiB;  ///< of the trace as data; while its arrays grow they may take three times as much
};

/// Reads a trace and checks every rule of the format, line by line. The text may be packed by gzip or zstd, which is told
/// by its first bytes.
/// \param name  of the file, for errors
/// \throws      `TraceError` for what is malformed, cut off, damaged or beyond the limits; `TierError` if `in` goes bad
/// \threadsafety  Safe on different streams.
[[nodiscard]] TIER_EXPORT Trace read_text(std::istream& in, std::string_view name = "trace",
                                          const ReadLimits& limits = {});

/// Whether to end with a line E: the counts, and a checksum of what comes before.
enum class Ending : bool { Open, Checked };

/// Writes a trace in its canonical form: `read_text` gives an equal one, and writing that gives the same bytes.
/// \throws  `TraceError` for a text that cannot stand where it would: one with a line break, or with a blank in a field
///          that ends at one; `TierError` if `out` goes bad. What was written before is then on `out`.
/// \pre     The trace keeps the rules, as `summarise` checks them.
TIER_EXPORT void write_text(const Trace& trace, std::ostream& out, Ending ending = Ending::Checked);

}  // namespace tier::trace
