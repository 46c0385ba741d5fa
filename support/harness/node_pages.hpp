// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The kernel's own ways to move memory between NUMA nodes, as a comparison.
#include <tier/core/bytes.hpp>
#include <tier/memory/tiers.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace tier {
class Mapping;
}

namespace tier::bench {

/// Returns the nodes whose memory this process may use, ascending: one on most machines.
[[nodiscard]] std::vector<unsigned> memory_nodes();

/// Memory on a node, which the kernel can move.
class NodePages {
 public:
  /// Allocates zeros, all faulted in.
  /// \throws  `TierError` if there is no such node, or the system does not permit it or has no room
  NodePages(Bytes size, PageKind pages, unsigned node);
  ~NodePages();

  [[nodiscard]] std::span<std::byte> bytes() const noexcept;
  /// Returns the bytes that are currently in huge pages.
  [[nodiscard]] Bytes huge() const;

  /// Moves by move_pages(2), with one address per page; per huge page if all were huge at first. Retries busy pages.
  /// \throws  `TierError` if there is no such node, the system does not permit it, or named pages do not move
  void move_pages(unsigned node);
  /// Makes later calls of `move_pages` name small pages, which is needed if huge ones were split.
  void name_small_pages();
  /// Moves by mbind(2), which sets the range's policy to the node and moves pages on other nodes.
  /// \throws  `TierError`, as `move_pages`
  void mbind(unsigned node);

 private:
  void name_pages(std::size_t step);

  std::unique_ptr<Mapping> memory_;
  std::vector<void*> pages_;
};

/// Moves all memory of this process on a node, by migrate_pages(2), as far as the kernel can move it.
/// \throws  `TierError` naming the call, if the system does not permit it
void migrate_pages(unsigned from, unsigned to);

/// Returns how many small pages of a range are not on a node or not in memory, as the kernel reports.
/// \throws  `TierError` naming the call, if the system does not report it
[[nodiscard]] std::size_t pages_elsewhere(std::span<const std::byte> bytes, unsigned node);

}  // namespace tier::bench
