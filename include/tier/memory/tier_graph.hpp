// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A machine's memory as groups of nodes that could be tiers, with the cost of copies between them.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/memory/tier.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tier {

/// A group of nodes of one kind and about one speed: HBM of both sockets, or an expander that they share.
struct NodeGroup {
  NodeKind kind = NodeKind::Dram;
  std::vector<unsigned> nodes;  ///< in ascending order
  TierModel model;              ///< as firmware declares it, else as measured, else typical of such memory
  SpeedSource source = SpeedSource::Assumed;  ///< source of `model`
  Bytes total, free;

  /// Returns the nodes as in a spec: `0-1,3`.
  [[nodiscard]] TIER_EXPORT std::string node_list() const;
};

/// Tells which kinds of memory a process may use, and what copies between them cost. It keeps nodes of one kind and about
/// one speed as a group, the fastest group first. The order of demotion between tiers made of them follows from their
/// models: `demotion_order()`.
/// \code{.cpp}
/// const tier::TierGraph graph{tier::discover()};
/// for (const auto& group : graph.groups())
///   std::printf("%s on nodes %s, %s\n", to_string(group.kind).data(), group.node_list().c_str(),
///               to_human(group.total).c_str());
/// \endcode
/// \threadsafety  Immutable.
class TIER_EXPORT TierGraph {
 public:
  /// Groups the nodes that this process may use.
  explicit TierGraph(const Machine& machine);

  [[nodiscard]] std::span<const NodeGroup> groups() const noexcept { return groups_; }
  /// Returns the seconds of a copy by the groups' models.   \param from, to  indices into `groups()`
  [[nodiscard]] double seconds_to_copy(std::size_t from, std::size_t to, Bytes size) const;

 private:
  std::vector<NodeGroup> groups_;
};

}  // namespace tier
