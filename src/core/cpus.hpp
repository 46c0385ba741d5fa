// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How many CPUs there are for this process.
#include <sched.h>
#include <unistd.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <string>

namespace tier::detail {

/// Of so many at most, a mover takes more than a copy costs with all of them, and so does leaving it one. A guess: two and 16
/// were measured (src/manager/README.md).
inline constexpr unsigned few_cpus = 4;

/// An option may be any number; far more threads than there are CPUs would only take memory.
/// \throws  `ConfigError`
[[nodiscard]] inline unsigned checked_threads(unsigned count, const char* what) {
  constexpr unsigned most = 4096;
  if (count > most)
    throw ConfigError{std::to_string(count) + " " + what + "; allowed: up to " + std::to_string(most)};
  return count;
}

/// Those that the calling thread may run on: `std::thread::hardware_concurrency` counts all that are online.
[[nodiscard]] inline unsigned usable_cpus() noexcept {
  ::cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
  return static_cast<unsigned>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));  // more than fit the set
}

}  // namespace tier::detail
