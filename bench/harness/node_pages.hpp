// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The kernel's own ways from one NUMA node's memory to another's, to compare with.
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

/// The nodes whose memory this process may have, ascending: one on most machines.
[[nodiscard]] std::vector<unsigned> memory_nodes();

/// Memory of a node that the kernel moves.
class NodePages {
 public:
  /// Zeros, all of them in memory.
  /// \throws  `TierError` if there is no such node, or the system does not permit it, or has no room
  NodePages(Bytes size, PageKind pages, unsigned node);
  ~NodePages();

  [[nodiscard]] std::span<std::byte> bytes() const noexcept;
  /// How much of it is in huge pages now.
  [[nodiscard]] Bytes huge() const;

  /// By move_pages(2), told one address of each page, and where all were huge at first of each huge page; what is busy
  /// is asked for again.
  /// \throws  `TierError` if there is no such node, or the system does not permit it, or pages that were named do not move
  void move_pages(unsigned node);
  /// From now on `move_pages` names small pages, as it has to where huge ones were split.
  void name_small_pages();
  /// By mbind(2), which makes the node that of the range's policy and moves what is elsewhere.
  /// \throws  `TierError`, as `move_pages`
  void mbind(unsigned node);

 private:
  void name_pages(std::size_t step);

  std::unique_ptr<Mapping> memory_;
  std::vector<void*> pages_;
};

/// All that this process has on a node, by migrate_pages(2), as far as the kernel can move it.
/// \throws  `TierError` naming the call, if the system does not permit it
void migrate_pages(unsigned from, unsigned to);

/// How many small pages of a range are not on a node, or not in memory, as the kernel says.
/// \throws  `TierError` naming the call, if the system does not say
[[nodiscard]] std::size_t pages_elsewhere(std::span<const std::byte> bytes, unsigned node);

}  // namespace tier::bench
