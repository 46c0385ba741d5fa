// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A machine's memory as groups of nodes that could be tiers, and what copies between them cost.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/memory/tier.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tier {

/// Nodes of one kind and about one speed: HBM of both sockets, or an expander that they share.
struct NodeGroup {
  NodeKind kind = NodeKind::Dram;
  std::vector<unsigned> nodes;  ///< in ascending order
  TierModel model;              ///< as firmware declares it, else as measured, else as such memory usually is
  SpeedSource source = SpeedSource::Assumed;  ///< of the model
  Bytes total, free;

  /// As in a spec: `0-1,3`.
  [[nodiscard]] TIER_EXPORT std::string node_list() const;
};

/// The memory that a process may use, fastest first. Where blocks go down between tiers made of it follows from their models:
/// `demotion_order()`.
/// \threadsafety  Immutable.
class TIER_EXPORT TierGraph {
 public:
  /// Of nodes that this process is allowed.
  explicit TierGraph(const Machine& machine);

  [[nodiscard]] std::span<const NodeGroup> groups() const noexcept { return groups_; }
  /// Indices into `groups()`; by their models.
  [[nodiscard]] double seconds_to_copy(std::size_t from, std::size_t to, Bytes size) const;

 private:
  std::vector<NodeGroup> groups_;
};

}  // namespace tier
