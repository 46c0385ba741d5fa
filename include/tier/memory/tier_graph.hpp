// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A machine's memory as groups of nodes that could be tiers, and what copies between them cost.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/memory/tier.hpp>

#include <cstddef>
#include <optional>
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

/// The memory that a process may use, fastest first.
/// \threadsafety  Immutable.
class TIER_EXPORT TierGraph {
 public:
  /// Of nodes that this process is allowed.
  explicit TierGraph(const Machine& machine);

  [[nodiscard]] std::span<const NodeGroup> groups() const noexcept { return groups_; }
  /// Indices into `groups()`. By the slower of reading there and writing here, both latencies, and how much further than
  /// to itself it is between their nodes, where rates are assumed.
  [[nodiscard]] double seconds_to_copy(std::size_t from, std::size_t to, Bytes size) const;

  /// The slower group that costs least to copy to, of several the fastest; none from the slowest.
  [[nodiscard]] std::optional<std::size_t> demotion_target(std::size_t group) const;
  /// The faster group that costs least to copy to, of several the fastest.
  [[nodiscard]] std::optional<std::size_t> promotion_target(std::size_t group) const;

 private:
  [[nodiscard]] std::optional<std::size_t> cheapest(std::size_t from, std::size_t begin,
                                                    std::size_t end) const;

  std::vector<NodeGroup> groups_;
  std::vector<double> distances_;  // mean ones between groups' nodes, in rows; in units of that to itself
};

}  // namespace tier
