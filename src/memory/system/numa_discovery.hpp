// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Reads the kernel's information on nodes of memory and on persistent memory.
#include <tier/core/bytes.hpp>
#include <tier/memory/machine.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memory/system/system_paths.hpp"

namespace tier {

/// Returns the nodes whose memory the process's cpuset allows; nothing if the kernel does not say.
[[nodiscard]] std::optional<std::vector<unsigned>> cpuset_nodes(const SystemPaths& paths);

/// Returns the nodes to which memory is bound, by the policy of the mapping at `address` or, if that is null, of this
/// thread (`numactl --membind`). Nothing if memory is not bound, or the system does not say.
[[nodiscard]] std::optional<std::vector<unsigned>> bound_to(const void* address);

/// Returns the nodes with memory, in order of ids; none if the kernel has no NUMA. Ignores implausible declared speeds:
/// rates must be at least 1 MiB/s, latencies from 1 ns to 1 ms.
[[nodiscard]] std::vector<NumaNode> find_nodes(const SystemPaths& paths);
/// Guesses the kinds of nodes by their declared or else measured speeds; persistent memory stays persistent.
void guess_kinds(std::span<NumaNode> nodes);
/// Returns the allowed nodes with CPUs, which provide memory that is on no particular node. Sets only `id` and `speed`.
[[nodiscard]] std::vector<NumaNode> find_home_nodes(const SystemPaths& paths);
/// Returns the memory of all nodes that this process may not use.
[[nodiscard]] Bytes find_forbidden_memory(const SystemPaths& paths);
[[nodiscard]] KernelTiering find_kernel_tiering(const SystemPaths& paths);
[[nodiscard]] std::vector<DaxDevice> find_dax_devices(const SystemPaths& paths);
[[nodiscard]] std::vector<DaxMount> find_dax_mounts(const SystemPaths& paths);

}  // namespace tier
