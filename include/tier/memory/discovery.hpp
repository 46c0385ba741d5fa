// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What this machine has and allows, for `tier info`.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tier {

/// Something the system may refuse.
struct Facility {
  bool usable = false;
  std::string reason;  ///< why not; empty where it is usable
};

struct NumaNode {
  unsigned id = 0;
  std::string cpus;  ///< as `0-3,8`; empty on a node of memory alone
  Bytes total, free;
};

struct Machine {
  std::string kernel;        ///< `6.1.0-18-amd64`
  std::string architecture;  ///< `x86_64`
  unsigned cpus = 0;         ///< that this process may use
  Bytes page_size;
  Bytes memory_total, memory_available;
  std::optional<Bytes>
      memory_limit;             ///< of the control groups that this process is in, if lower than the memory
  std::vector<NumaNode> nodes;  ///< those with memory; one for all of it where the system does not say

  std::string transparent_huge_pages;  ///< `always`, `madvise`, `never`, or empty where the kernel has none
  Bytes huge_page_size;                ///< of reserved huge pages
  std::size_t huge_pages_reserved = 0, huge_pages_free = 0;

  Facility io_uring;
  Facility userfaultfd;                      ///< of system calls too: what windows need
  std::optional<Bytes> locked_memory_limit;  ///< RLIMIT_MEMLOCK
  std::optional<Bytes> file_size_limit;      ///< RLIMIT_FSIZE
  bool root = false;
};

/// Asks the system. What it does not tell stays empty or zero; nothing is thrown but for lack of memory.
/// \threadsafety  May be called by any thread, as all of this page.
[[nodiscard]] TIER_EXPORT Machine discover();

/// The memory that this process can have at most: the machine's, or what its control groups leave of it. Zero where the
/// system does not say.
[[nodiscard]] TIER_EXPORT Bytes memory_bound();

/// Whether files in this directory can be read and written past the page cache.
[[nodiscard]] TIER_EXPORT Facility discover_direct_io(const std::string& directory);

}  // namespace tier
