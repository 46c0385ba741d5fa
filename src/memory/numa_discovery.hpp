// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What the kernel tells of nodes of memory and of persistent memory.
#include <tier/memory/discovery.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tier {

/// Where the kernel tells; a test has folders of its own.
struct SystemPaths {
  std::string sysfs = "/sys";
  std::string procfs = "/proc/self";
  std::string sysctl = "/proc/sys";
  std::string zoneinfo = "/proc/zoneinfo";
};

/// The nodes whose memory this process may have by its cpuset; none where the kernel does not say.
[[nodiscard]] std::optional<std::vector<unsigned>> cpuset_nodes(const SystemPaths& paths);

/// The nodes that memory comes from and no other: by the policy of the mapping at `address`, or, where that is null, of this
/// thread, such as by `numactl --membind`. None where it is bound to none, or where the system does not say.
[[nodiscard]] std::optional<std::vector<unsigned>> bound_to(const void* address);

/// Nodes with memory, in order of ids; none where the kernel has no NUMA. What firmware says of their speed makes sense, or
/// counts as not said: rates from 1 MiB/s, latencies from 1 ns to 1 ms.
[[nodiscard]] std::vector<NumaNode> find_nodes(const SystemPaths& paths);
/// By their speeds, declared or else measured; persistent memory stays what it is.
void guess_kinds(std::span<NumaNode> nodes);
/// Those with CPUs that this process is allowed: they give what is asked of none. With number and speed alone.
[[nodiscard]] std::vector<NumaNode> find_home_nodes(const SystemPaths& paths);
/// Of all nodes that this process is not allowed.
[[nodiscard]] Bytes find_forbidden_memory(const SystemPaths& paths);
[[nodiscard]] KernelTiering find_kernel_tiering(const SystemPaths& paths);
[[nodiscard]] std::vector<DaxDevice> find_dax_devices(const SystemPaths& paths);
[[nodiscard]] std::vector<DaxMount> find_dax_mounts(const SystemPaths& paths);

}  // namespace tier
