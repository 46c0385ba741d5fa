// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The loop by which large copies are made, and how it was chosen.
#include <tier/core/export.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tier {

/// Says which loop large copies in memory use, and why that one. Which is fastest depends on the CPU: on one, prefetching
/// gains a quarter, on another the same prefetching costs a third. A `CopyEngine` measures once, in idle time of a mover, at most 30 ms of one
/// thread; until then a guess by the CPU's vendor holds. What was found is kept in the user's cache folder, for this machine.
/// \code{.cpp}
/// #include <tier/copy/copy_kernel.hpp>
/// const tier::CopyKernel kernel = tier::copy_kernel();
/// assert(!kernel.name.empty());   // avx512-t1
/// assert(!kernel.origin.empty()); // measured earlier
/// \endcode
struct CopyKernel {
  std::string name;    ///< as in `copy_kernel_names()`
  std::string origin;  ///< a phrase: `measured earlier`
  std::string file;    ///< where findings are kept; empty if there is no cache folder
};
/// \threadsafety  Any thread.   \throws  `std::bad_alloc`
[[nodiscard]] TIER_EXPORT CopyKernel copy_kernel();

/// Sets the loop for this process, in place of what was measured or guessed; `TIER_COPY_KERNEL` does the same.
/// \param name    one of `copy_kernel_names()`, or `guess`
/// \throws        `ConfigError` naming what is allowed
/// \threadsafety  Any thread; copies that have begun go on as they were.
TIER_EXPORT void set_copy_kernel(std::string_view name);

/// Returns the names of the loops that this CPU can run, the guess first.
[[nodiscard]] TIER_EXPORT std::vector<std::string> copy_kernel_names();

/// How fast a loop copies.
struct CopyKernelRate {
  std::string name;
  double bytes_per_second = 0;  ///< median, of copies of 2 MiB by one thread, neither side in the caches
};
/// Measures every loop that this CPU can run, for some tenths of a second. Changes nothing.   \throws  `std::bad_alloc`
[[nodiscard]] TIER_EXPORT std::vector<CopyKernelRate> measure_copy_kernels();

}  // namespace tier
