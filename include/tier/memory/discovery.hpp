// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Finds what this machine has and allows, for `tier info`.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tier {

struct TierSpec;

/// Something the system may refuse.
struct Facility {
  bool usable = false;
  std::string reason;  ///< why it is not usable; empty if it is
};

/// The kind of a node's memory; guessed from its declared or else measured speed if the system does not say.
enum class NodeKind : std::uint8_t {
  Dram,       ///< the node has CPUs
  Hbm,        ///< the node has no CPUs, and at least twice the bandwidth of any node with CPUs
  Cxl,        ///< the node has no CPUs, and is slower or of unknown speed: an expander
  Persistent  ///< persistent memory that the system uses as its own (kmem)
};
/// Returns the name used in specs: `dram`, `hbm`, `cxl`, `pmem`.
[[nodiscard]] TIER_EXPORT std::string_view to_string(NodeKind kind) noexcept;

/// The speed at which the nearest CPUs reach a node's memory; zero if unknown.
struct NodeSpeed {
  double read_bytes_per_second = 0, write_bytes_per_second = 0;
  std::chrono::nanoseconds read_latency{0}, write_latency{0};
};

enum class SpeedSource : std::uint8_t {
  Declared,  ///< by firmware (HMAT)
  Measured,  ///< on this machine, as by `tier probe`
  Assumed    ///< typical of such memory
};
/// Returns `declared`, `measured` or `assumed`.
[[nodiscard]] TIER_EXPORT std::string_view to_string(SpeedSource source) noexcept;

struct NumaNode {
  unsigned id = 0;
  std::string cpus;  ///< such as `0-3,8`; empty if the node has only memory
  Bytes total, free;
  NodeKind kind = NodeKind::Dram;
  NodeSpeed speed{};     ///< as firmware declares it
  NodeSpeed measured{};  ///< set by a caller that has measured; used where firmware declares nothing
  std::vector<unsigned> initiators{};     ///< nodes of the CPUs for which `speed` holds
  std::vector<unsigned> distances{};      ///< to each of `Machine::nodes`, 10 to itself; empty if unknown
  std::optional<unsigned> memory_tier{};  ///< the kernel's tier, by which it demotes; lower is faster
  bool allowed = true;                    ///< this process may use the node, by cpuset and memory policy
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

struct Machine {
  std::string kernel;        ///< `6.1.0-18-amd64`
  std::string architecture;  ///< `x86_64`
  unsigned cpus = 0;         ///< CPUs that this process may use
  Bytes page_size;
  Bytes memory_total, memory_available;
  std::optional<Bytes>
      memory_limit;  ///< lowest limit of this process's control groups, if lower than the memory
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

/// Asks the system. Unknown values stay empty or zero; throws only if memory is short.
/// \threadsafety  Any thread may call it, as every function in this header.
[[nodiscard]] TIER_EXPORT Machine discover();

/// Returns the memory that this process could take without making any program swap: on nodes that it may use, within what
/// its control groups have left of their limits.
[[nodiscard]] TIER_EXPORT Bytes available_memory(const Machine& machine);

/// Returns the most memory that this process can have: the machine's, limited by its allowed nodes and control groups. Zero
/// if the system does not say.
[[nodiscard]] TIER_EXPORT Bytes memory_bound();

/// Says how much memory these tiers lack; empty if none. Tiers of memory, and tiers whose files lie in memory, need their
/// whole size and a little more. The bound is what the machine has available with its swap, within what the process's
/// control groups have left of their limits.
[[nodiscard]] TIER_EXPORT std::string lacking_memory(std::span<const TierSpec> specs);
/// True if a file at this path, or in this directory, would lie in memory: on tmpfs or ramfs.
[[nodiscard]] TIER_EXPORT bool lies_in_memory(const std::string& path);

/// Tells whether files in this directory can be read and written past the page cache.
[[nodiscard]] TIER_EXPORT Facility discover_direct_io(const std::string& directory);

}  // namespace tier
