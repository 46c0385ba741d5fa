// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/machine/roles.hpp"

#include <tier/core/error.hpp>
#include <tier/core/suggestion.hpp>
#include <tier/memory/tier_graph.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace tier {
namespace {

constexpr std::string_view roles = "fastest, largest, hbm, cxl";

std::string names_of(std::span<const NodeGroup> groups) {
  std::string text;
  for (const auto& group : groups)
    text.append(text.empty() ? "" : ", ")
        .append(to_string(group.kind))
        .append(" on node ")
        .append(group.node_list());
  return text.empty() ? "no memory of a kind that the system tells" : text;
}

/// Returns the group of a role; null if there is none.
const NodeGroup* find(std::span<const NodeGroup> groups, std::string_view role) {
  if (groups.empty()) return nullptr;
  if (role == "fastest") return &groups.front();
  if (role == "largest") return &*std::ranges::max_element(groups, {}, &NodeGroup::total);
  const auto found =
      std::ranges::find_if(groups, [&](const NodeGroup& group) { return to_string(group.kind) == role; });
  return found == groups.end() ? nullptr : &*found;
}

}  // namespace

TierSpec resolve_role(const TierSpec& spec, const Machine& machine) {
  const TierGraph graph{machine};
  const auto groups = graph.groups();
  const bool by_rank = spec.model == "fastest" || spec.model == "largest";
  if (!by_rank && spec.model != "hbm" && spec.model != "cxl")
    throw ConfigError{"unknown role" + detail::did_you_mean(spec.model, roles), spec.model, 0, roles};
  auto found = spec;
  found.model.clear();
  found.kind = TierKind::Dram;
  if (by_rank && (groups.size() < 2 || !machine.placement.usable)) return found;
  const auto* const group = find(groups, spec.model);
  if (group == nullptr)
    throw ConfigError{"this machine has no memory of this role", spec.model, 0,
                      "fastest, largest, or what this process may use: " + names_of(groups)};
  found.kind = TierKind::Numa;
  found.nodes = group->node_list();
  return found;
}

}  // namespace tier
