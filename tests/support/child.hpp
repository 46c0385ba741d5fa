// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Runs a part of a test in its own process, for code that aborts, forks or reads the environment.
#include <string>
#include <utility>
#include <vector>

#include <tier/core/function_ref.hpp>

namespace tier::test {

/// How a process ended.
struct Ended {
  int code = 0;        ///< its exit status, or -1
  int signal = 0;      ///< the signal that ended it, or 0
  std::string errors;  ///< what it wrote to stderr
};

using Environment = std::vector<std::pair<std::string, std::string>>;

/// Starts the current test case again in a new process, which calls `part` in place of this call and exits. It does not
/// fork, because sanitizers allow no threads in the child of a program that has some.
/// \param label  unique in the test case
/// \param environment  variables for the new process, added to those of this one
Ended run_in_child(const std::string& label, FunctionRef<void()> part, const Environment& environment = {});

}  // namespace tier::test
