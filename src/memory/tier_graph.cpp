// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/memory/tier_graph.hpp>

#include <algorithm>
#include <chrono>

#include "memory/node_models.hpp"

namespace tier {
namespace {

/// Within a third of each other.
bool is_alike(double a, double b) { return a <= b * 1.34 && b <= a * 1.34; }

/// Nodes of one kind together: pages go to them in turns, so that the slowest decides.
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

/// In units of that of a node to itself; 1 where the system tells no distances.
double distance(const std::vector<NumaNode>& nodes, unsigned from, unsigned to) {
  const auto index_of = [&](unsigned id) {
    return static_cast<std::size_t>(std::ranges::find(nodes, id, &NumaNode::id) - nodes.begin());
  };
  const auto& distances = nodes[index_of(from)].distances;
  if (distances.empty()) return 1;
  return static_cast<double>(distances[index_of(to)]) / distances[index_of(from)];
}

double mean_distance(const std::vector<NumaNode>& nodes, const NodeGroup& a, const NodeGroup& b) {
  double sum = 0;
  for (const auto from : a.nodes)
    for (const auto to : b.nodes) sum += distance(nodes, from, to);
  return sum / static_cast<double>(a.nodes.size() * b.nodes.size());
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

TierGraph::TierGraph(const Machine& machine) : groups_{groups_of(machine.nodes)} {
  for (const auto& from : groups_)
    for (const auto& to : groups_) distances_.push_back(mean_distance(machine.nodes, from, to));
}

double TierGraph::seconds_to_copy(std::size_t from, std::size_t to, Bytes size) const {
  const auto& source = groups_.at(from);
  const auto& target = groups_.at(to);
  const double rate = std::min(source.model.read_bytes_per_second, target.model.write_bytes_per_second);
  const double latency = std::chrono::duration<double>{source.model.latency + target.model.latency}.count();
  const bool is_known = source.source != SpeedSource::Assumed && target.source != SpeedSource::Assumed;
  return latency +
         static_cast<double>(size.count) / rate * (is_known ? 1 : distances_[from * groups_.size() + to]);
}

std::optional<std::size_t> TierGraph::cheapest(std::size_t from, std::size_t begin, std::size_t end) const {
  constexpr Bytes large = 1_MiB;
  std::optional<std::size_t> best;
  double least = 0;
  for (auto to = begin; to < end; ++to) {
    const double seconds = seconds_to_copy(from, to, large);
    if (best && seconds >= least * 0.99) continue;
    best = to;
    least = seconds;
  }
  return best;
}

std::optional<std::size_t> TierGraph::demotion_target(std::size_t group) const {
  return cheapest(group, group + 1, groups_.size());
}

std::optional<std::size_t> TierGraph::promotion_target(std::size_t group) const {
  return cheapest(group, 0, group);
}

}  // namespace tier
