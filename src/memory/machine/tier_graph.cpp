// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/memory/tier_graph.hpp>

#include <algorithm>

#include "memory/values/node_models.hpp"

namespace tier {
namespace {

/// True if the numbers are within a third of each other.
bool is_alike(double a, double b) { return a <= b * 1.34 && b <= a * 1.34; }

/// True if a node belongs to a group of its kind. Pages go to a group's nodes in turns, so speeds must be alike, as the
/// slowest node decides.
bool belongs(const NodeGroup& group, const NumaNode& node, const TierModel& model) {
  const auto latency = [](const TierModel& m) { return static_cast<double>(m.latency.count()); };
  const auto nodes = static_cast<double>(group.nodes.size());
  return group.kind == node.kind && group.source == speed_source_of(node) &&
         is_alike(latency(group.model), latency(model)) &&
         is_alike(group.model.read_bytes_per_second / nodes, model.read_bytes_per_second);
}

void add(NodeGroup& group, const NumaNode& node, const TierModel& model) {
  const auto nodes = static_cast<double>(group.nodes.size());
  const auto all = [&](double before, double rate) { return std::min(before / nodes, rate) * (nodes + 1); };
  auto& sum = group.model;
  sum.read_bytes_per_second = all(sum.read_bytes_per_second, model.read_bytes_per_second);
  sum.write_bytes_per_second = all(sum.write_bytes_per_second, model.write_bytes_per_second);
  sum.latency = std::max(sum.latency, model.latency);
  group.nodes.push_back(node.id);
  group.total += node.total;
  group.free += node.free;
}

std::vector<NodeGroup> groups_of(const std::vector<NumaNode>& nodes) {
  std::vector<NodeGroup> groups;
  for (const auto& node : nodes) {
    if (!node.allowed) continue;
    const auto model = model_of(node);
    const auto found =
        std::ranges::find_if(groups, [&](const NodeGroup& group) { return belongs(group, node, model); });
    if (found != groups.end())
      add(*found, node, model);
    else
      groups.push_back({node.kind, {node.id}, model, speed_source_of(node), node.total, node.free});
  }
  std::ranges::stable_sort(groups, is_faster, &NodeGroup::model);
  return groups;
}

}  // namespace

std::string NodeGroup::node_list() const {
  std::string text;
  for (std::size_t i = 0, last = 0; i < nodes.size(); i = last + 1) {
    for (last = i; last + 1 < nodes.size() && nodes[last + 1] == nodes[last] + 1;) ++last;
    text.append(text.empty() ? "" : ",").append(std::to_string(nodes[i]));
    if (last > i) text.append("-").append(std::to_string(nodes[last]));
  }
  return text;
}

TierGraph::TierGraph(const Machine& machine) : groups_{groups_of(machine.nodes)} {}

double TierGraph::seconds_to_copy(std::size_t from, std::size_t to, Bytes size) const {
  return tier::seconds_to_copy(groups_.at(from).model, groups_.at(to).model, size);
}

}  // namespace tier
