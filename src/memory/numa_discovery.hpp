// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What the kernel tells of nodes of memory and of persistent memory.
#include <tier/memory/discovery.hpp>
#include <tier/memory/tier.hpp>

#include <string>
#include <vector>

namespace tier {

/// Where the kernel tells; a test has folders of its own.
struct SystemPaths {
  std::string sysfs = "/sys";
  std::string procfs = "/proc/self";
};

/// Of a node, from the path of its folder. What firmware says makes sense, or counts as not said: rates from 1 MiB/s, latencies
/// from 1 ns to 1 ms.
[[nodiscard]] NodeSpeed read_node_speed(const std::string& node_path);

/// A model of which firmware tells better in part, or in all.
[[nodiscard]] TierModel with_speed(TierModel usual, const NodeSpeed& speed);

/// Nodes with memory, in order of ids; none where the kernel has no NUMA.
[[nodiscard]] std::vector<NumaNode> find_nodes(const SystemPaths& paths);
[[nodiscard]] std::vector<DaxDevice> find_dax_devices(const SystemPaths& paths);
[[nodiscard]] std::vector<DaxMount> find_dax_mounts(const SystemPaths& paths);

}  // namespace tier
