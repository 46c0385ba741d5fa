// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What is known of a machine.
#include <tier/core/bytes.hpp>
#include <tier/memory/numa_node.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tier {

/// Something the system may refuse.
struct Facility {
  bool usable = false;
  std::string reason;  ///< why it is not usable; empty if it is
};

/// The kernel's own migration of pages between nodes.
struct KernelTiering {
  unsigned numa_balancing =
      0;  ///< `kernel.numa_balancing`: 1 to the nodes that use them, 2 to faster nodes, 3 both
  bool demotion = false;  ///< from a node that runs full to a slower one
};

/// A device of persistent memory, or of other memory set aside.
struct DaxDevice {
  std::string path;  ///< `/dev/dax0.0`
  Bytes size;
  std::optional<unsigned> node;  ///< the node that it is, or would be, as memory of the system
  bool is_memory = false;        ///< the system uses it as its own memory (kmem); programs cannot map it
  bool is_persistent = false;
};

/// A file system whose files are persistent memory that programs can map.
struct DaxMount {
  std::string directory, device;
  Bytes size, free;
};

/// Tells which memory this machine has, and what the system lets this process do with it. `discover()` finds it out.
/// \code{.cpp}
/// #include <tier/memory/discovery.hpp>
/// const tier::Machine machine = tier::discover();
/// for (const auto& node : machine.nodes) std::printf("node %u: %s\n", node.id, to_human(node.total).c_str());
/// if (!machine.userfaultfd.usable)
///   std::printf("windows are restricted: %s\n", machine.userfaultfd.reason.c_str());
/// \endcode
struct Machine {
  std::string kernel;        ///< `6.1.0-18-amd64`
  std::string architecture;  ///< `x86_64`
  unsigned cpus = 0;         ///< CPUs that this process may use
  Bytes page_size;
  Bytes memory_total, memory_available;
  /// The lowest limit of this process's control groups, if lower than the memory.
  std::optional<Bytes> memory_limit;
  /// Memory that the control groups have left of their limits, if lower than the memory. Memory that they and their
  /// neighbours use and could not give back does not count. None if there is no limit.
  std::optional<Bytes> memory_left;
  std::vector<NumaNode> nodes;  ///< nodes with memory; one node for all memory if the system does not say
  KernelTiering kernel_tiering;
  std::vector<DaxDevice> dax_devices;
  std::vector<DaxMount> dax_mounts;

  std::string transparent_huge_pages;  ///< `always`, `madvise`, `never`, or empty if the kernel has none
  Bytes huge_page_size;                ///< size of reserved huge pages
  std::size_t huge_pages_reserved = 0, huge_pages_free = 0;

  Facility io_uring;
  Facility userfaultfd;                         ///< also for faults in system calls; needed by windows
  Facility placement;                           ///< memory from chosen nodes; needed by tiers on nodes
  std::optional<Bytes> locked_memory_limit;     ///< RLIMIT_MEMLOCK
  std::optional<Bytes> file_size_limit;         ///< RLIMIT_FSIZE
  std::optional<std::size_t> open_files_limit;  ///< RLIMIT_NOFILE
  std::optional<std::size_t> mappings_limit;    ///< vm.max_map_count, for each process
  /// Effective capabilities that matter to the library, such as `CAP_SYS_PTRACE`.
  std::vector<std::string> capabilities;
  bool root = false;
};

}  // namespace tier
