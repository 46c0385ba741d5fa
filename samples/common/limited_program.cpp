// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/limited_program.hpp"

#include <csignal>

#include "common/command_line.hpp"

namespace sample {

tier::bench::Ended LimitedProgram::run(const Run& run) const {
  constexpr int interrupted = 128 + SIGINT;  // the program's exit status; it has results then, too
  auto arguments = arguments_;
  arguments.insert(arguments.begin(), program_);
  arguments.insert(arguments.end(), {"--run", run.name, "--json", "-"});
  arguments.insert(arguments.end(), run.more.begin(), run.more.end());
  tier::bench::MemoryGroup group{run.limit};
  auto ended = group.run(std::move(arguments), stop_);
  if (ended.code == 0 || ended.code == interrupted || ended.code == learned_nothing) return ended;
  const auto error = std::make_error_code(std::errc::no_child_process);
  const auto what = "the run " + run.name + (run.what.empty() ? "" : " " + run.what);
  if (run.limit && ended.signal == SIGKILL)
    throw Killed{error,
                 fmt::format("{} was killed under its memory limit of {}{}", what, tier::to_human(*run.limit),
                             run.advice.empty() ? "" : " (" + run.advice + ")")};
  throw tier::TierError{error, fmt::format("{} {}", what, ended.fate())};
}

}  // namespace sample
