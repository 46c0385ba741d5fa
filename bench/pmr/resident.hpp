// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Measures the memory of one piece of work apart from the rest of the program.
#include <sys/wait.h>
#include <unistd.h>
#include <tier/core/function_ref.hpp>

#include <array>
#include <cstddef>
#include <fstream>
#include <stdexcept>

namespace tier::bench {

inline std::size_t resident_bytes() {
  std::ifstream file{"/proc/self/statm"};
  std::size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Returns the result of `measure` in a forked child process.
/// \throws  `std::runtime_error` if the child gives no answer
inline double in_child(FunctionRef<double()> measure) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) throw std::runtime_error{"pipe failed"};
  const pid_t child = ::fork();
  double result = 0;
  if (child == 0) {
    result = measure();
    ::_exit(::write(pipe[1], &result, sizeof result) == sizeof result ? 0 : 1);
  }
  ::close(pipe[1]);
  const bool read = ::read(pipe[0], &result, sizeof result) == sizeof result;
  ::close(pipe[0]);
  if (child < 0 || ::waitpid(child, nullptr, 0) != child || !read)
    throw std::runtime_error{"a measurement in a child has failed"};
  return result;
}

}  // namespace tier::bench
