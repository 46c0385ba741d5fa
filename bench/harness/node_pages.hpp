// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The kernel's own way from one NUMA node's memory to another's, to compare with.
#include <tier/core/bytes.hpp>

#include <cstddef>
#include <vector>

namespace tier::bench {

/// The nodes that have memory, ascending: one on most machines.
[[nodiscard]] std::vector<int> memory_nodes();

/// Plain memory, written once, that `move_pages(2)` moves.
class NodePages {
 public:
  explicit NodePages(Bytes size);

  /// Moves all of it; pages that are busy are asked for again.
  /// \throws  `TierError` if there is no such node, or the system does not permit it, or some do not move
  void move_to(int node);

 private:
  std::vector<std::byte> memory_;
  std::vector<void*> pages_;
};

}  // namespace tier::bench
