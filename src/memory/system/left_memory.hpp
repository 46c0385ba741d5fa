// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The memory that the machine has left.
#include <tier/core/bytes.hpp>

namespace tier {

/// Numbers of /proc/meminfo.
struct SystemMemory {
  Bytes total, available, free_swap;
};
/// Reads these numbers now; what the system does not say is zero.
[[nodiscard]] SystemMemory system_memory();

/// Returns the memory needed beside `memory`: page tables of small pages, and a guess for rings, threads and descriptors.
[[nodiscard]] Bytes memory_beside(Bytes memory) noexcept;

}  // namespace tier
