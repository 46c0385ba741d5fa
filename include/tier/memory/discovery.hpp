// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What this machine has and allows, for `tier info`.
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
  std::string reason;  ///< why not; empty where it is usable
};

/// What the memory of a node is; guessed from its speed, declared or else measured, where the system does not say.
enum class NodeKind : std::uint8_t {
  Dram,       ///< of a node that has CPUs
  Hbm,        ///< without CPUs, and at least twice as fast in bandwidth as any that has them
  Cxl,        ///< without CPUs, and slower, or of unknown speed: an expander
  Persistent  ///< persistent memory that the system uses as its own (kmem)
};
/// As in specs: `dram`, `hbm`, `cxl`, `pmem`.
[[nodiscard]] TIER_EXPORT std::string_view to_string(NodeKind kind) noexcept;

/// How fast the nearest CPUs reach a node's memory; zero: not known.
struct NodeSpeed {
  double read_bytes_per_second = 0, write_bytes_per_second = 0;
  std::chrono::nanoseconds read_latency{0}, write_latency{0};
};

enum class SpeedSource : std::uint8_t {
  Declared,  ///< by firmware (HMAT)
  Measured,  ///< here, as by `tier probe`
  Assumed    ///< as such memory usually is
};
/// `declared`, `measured`, `assumed`.
[[nodiscard]] TIER_EXPORT std::string_view to_string(SpeedSource source) noexcept;

struct NumaNode {
  unsigned id = 0;
  std::string cpus;  ///< as `0-3,8`; empty on a node of memory alone
  Bytes total, free;
  NodeKind kind = NodeKind::Dram;
  NodeSpeed speed{};     ///< as firmware declares it
  NodeSpeed measured{};  ///< nothing from discovery: for who has measured; counts where firmware says nothing
  std::vector<unsigned> initiators{};     ///< nodes of the CPUs that `speed` is of
  std::vector<unsigned> distances{};      ///< to each of `Machine::nodes`, 10 to itself; empty: not told
  std::optional<unsigned> memory_tier{};  ///< the kernel's, by which it demotes: lower is faster
  bool allowed = true;                    ///< to this process, by its cpuset and memory policy
};

/// How the kernel moves pages between nodes on its own.
struct KernelTiering {
  unsigned numa_balancing =
      0;                  ///< `kernel.numa_balancing`: 1 to where they are used, 2 to faster nodes, 3 both
  bool demotion = false;  ///< from a node that runs full to a slower one
};

/// Persistent memory, or other memory set aside, as a device of its own.
struct DaxDevice {
  std::string path;  ///< `/dev/dax0.0`
  Bytes size;
  std::optional<unsigned> node;  ///< where it would be, or is, as memory of the system
  bool is_memory = false;        ///< the system uses it as its own (kmem); programs cannot map it
  bool is_persistent = false;
};

/// A file system whose files are persistent memory that programs map.
struct DaxMount {
  std::string directory, device;
  Bytes size, free;
};

struct Machine {
  std::string kernel;        ///< `6.1.0-18-amd64`
  std::string architecture;  ///< `x86_64`
  unsigned cpus = 0;         ///< that this process may use
  Bytes page_size;
  Bytes memory_total, memory_available;
  std::optional<Bytes>
      memory_limit;  ///< of the control groups that this process is in, if lower than the memory
  /// What they have left of their limits, if lower than the memory: they and their neighbours use some, and could not give
  /// all of that back. None where there is no limit.
  std::optional<Bytes> memory_left;
  std::vector<NumaNode> nodes;  ///< those with memory; one for all of it where the system does not say
  KernelTiering kernel_tiering;
  std::vector<DaxDevice> dax_devices;
  std::vector<DaxMount> dax_mounts;

  std::string transparent_huge_pages;  ///< `always`, `madvise`, `never`, or empty where the kernel has none
  Bytes huge_page_size;                ///< of reserved huge pages
  std::size_t huge_pages_reserved = 0, huge_pages_free = 0;

  Facility io_uring;
  Facility userfaultfd;                         ///< of system calls too: what windows need
  Facility placement;                           ///< memory from chosen nodes: what tiers on nodes need
  std::optional<Bytes> locked_memory_limit;     ///< RLIMIT_MEMLOCK
  std::optional<Bytes> file_size_limit;         ///< RLIMIT_FSIZE
  std::optional<std::size_t> open_files_limit;  ///< RLIMIT_NOFILE
  std::optional<std::size_t> mappings_limit;    ///< vm.max_map_count, of a process
  /// Those in effect of which something here may depend, as `CAP_SYS_PTRACE`.
  std::vector<std::string> capabilities;
  bool root = false;
};

/// Asks the system. What it does not tell stays empty or zero; nothing is thrown but for lack of memory.
/// \threadsafety  May be called by any thread, as all of this page.
[[nodiscard]] TIER_EXPORT Machine discover();

/// What this process could take without making anybody swap: on nodes that it is allowed, within what its control groups have
/// left of their limits.
[[nodiscard]] TIER_EXPORT Bytes available_memory(const Machine& machine);

/// The memory that this process can have at most: the machine's, or what its nodes and its control groups leave of it. Zero
/// where the system does not say.
[[nodiscard]] TIER_EXPORT Bytes memory_bound();

/// Says how much memory these tiers need beyond what there is now: those of memory and those whose files lie in memory need their whole size
/// and a little beside it, the machine has some available and its swap, and the process's control groups have some left of
/// their limits. Empty where nothing is lacking.
[[nodiscard]] TIER_EXPORT std::string lacking_memory(std::span<const TierSpec> specs);
/// Whether a file at this path, or in this directory, would lie in memory: on tmpfs or ramfs.
[[nodiscard]] TIER_EXPORT bool lies_in_memory(const std::string& path);

/// Whether files in this directory can be read and written past the page cache.
[[nodiscard]] TIER_EXPORT Facility discover_direct_io(const std::string& directory);

}  // namespace tier
