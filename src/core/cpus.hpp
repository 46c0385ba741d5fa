// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The number of CPUs that this process may use.
#include <sched.h>
#include <unistd.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <string>

namespace tier::detail {

/// With this many CPUs or fewer, a mover (or a CPU reserved for one) takes more time from the program than a copy by all
/// CPUs costs. A guess: two and 16 CPUs were measured (src/manager/README.md).
inline constexpr unsigned few_cpus = 4;

/// Returns `count`, or refuses a number of threads that would only waste memory.
/// \throws  `ConfigError`
[[nodiscard]] inline unsigned checked_threads(unsigned count, const char* what) {
  constexpr unsigned most = 4096;
  if (count > most)
    throw ConfigError{std::to_string(count) + " " + what + "; allowed: up to " + std::to_string(most)};
  return count;
}

/// Returns how many CPUs the calling thread may run on; `std::thread::hardware_concurrency` counts all that are online.
[[nodiscard]] inline unsigned usable_cpus() noexcept {
  ::cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
  return static_cast<unsigned>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));  // more CPUs than fit the set
}

}  // namespace tier::detail
