// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recording_warnings.hpp"

#include <tier/replay/replay.hpp>
#include <tier/trace/binary.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace tier::tool {
namespace {

/// Prints to stderr. It does not throw if that cannot be written.
void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace

void warn_of_slow_recording(const trace::Trace& trace) {
  const auto slow = replay::count_kernels_not_all_fast(trace);
  if (slow > 0)
    say(
        fmt::format("tier: {} of {} kernels were recorded with operands that were not in the fastest tier: "
                    "their times are taken from the machine, not from the recording. Record a run with all "
                    "operands in the fastest tier to have them\n",
                    slow, trace.kernels().size()));
}

void warn_of_incomplete_recording(const trace::Trace& trace) {
  if (const auto lost = trace.header(trace::lost_key))
    say(
        fmt::format("tier: the recording lacks {} events, for which there was no room or memory: the replay "
                    "is not what the program did\n",
                    *lost));
  if (trace.header(trace::unfinished_key))
    say("tier: the recording has no end: its program still runs, or was ended, and the last events are "
        "missing\n");
  if (trace.header("recorded") && trace.kernels().empty())
    say("tier: the recording has no kernels: the time that its program computed between gathers and hints is "
        "not known, and counts as none. Scopes are recorded as kernels\n");
}

}  // namespace tier::tool
