// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What is known of a node of memory.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tier {

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

/// Where the numbers of a speed come from.
enum class SpeedSource : std::uint8_t {
  Declared,  ///< by firmware (HMAT)
  Measured,  ///< on this machine, as by `tier probe`
  Assumed    ///< typical of such memory
};
/// Returns `declared`, `measured` or `assumed`.
[[nodiscard]] TIER_EXPORT std::string_view to_string(SpeedSource source) noexcept;

/// A node with memory: how much, how fast, and whether this process may use it.
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

}  // namespace tier
