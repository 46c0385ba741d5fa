// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/machine/suggested_tiers.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <tier/core/error.hpp>
#include <tier/core/suggestion.hpp>
#include <tier/memory/tier_graph.hpp>

#include <algorithm>
#include <filesystem>

namespace tier {
namespace {

constexpr std::string_view roles = "fastest, largest, hbm, cxl";

constexpr const char* scratch_directory = "/var/tmp";  // on a disk, unlike /tmp on many systems
constexpr Bytes unit = 1_MiB;

Bytes rounded_down(Bytes size) { return {size.count / unit.count * unit.count}; }

std::string names_of(std::span<const NodeGroup> groups) {
  std::string text;
  for (const auto& group : groups)
    text.append(text.empty() ? "" : ", ")
        .append(to_string(group.kind))
        .append(" on node ")
        .append(group.node_list());
  return text.empty() ? "none that it tells of" : text;
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

/// Returns half of the free DRAM, which the system and other programs share, or nearly all free memory of other kinds,
/// which is used only by programs that ask for it.
Bytes share_of(const NodeGroup& group) {
  return {group.kind == NodeKind::Dram ? group.free.count / 2 : group.free.count / 8 * 7};
}

void add_memory(std::vector<TierSpec>& specs, const Machine& machine) {
  const TierGraph graph{machine};
  if (graph.groups().size() < 2 || !machine.placement.usable) {
    specs.push_back(tiers::dram(std::max(rounded_down(Bytes{available_memory(machine).count / 2}), unit)));
    return;
  }
  constexpr Bytes any{SIZE_MAX};
  auto left = std::min(machine.memory_limit.value_or(any), machine.memory_left.value_or(any)).count / 2;
  for (const auto& group : graph.groups()) {
    const auto size = rounded_down(std::min(share_of(group), Bytes{left}));
    if (size == 0_B) continue;
    specs.push_back(tiers::numa(group.node_list(), size));
    left -= size.count;
  }
  if (specs.empty()) specs.push_back(tiers::dram(unit));
}

/// Adds half of the free space on the disk behind the scratch directory, if the process may make a file there; no more than
/// the largest file that it may have.
void add_disk(std::vector<TierSpec>& specs, const Machine& machine) {
  if (::faccessat(AT_FDCWD, scratch_directory, W_OK | X_OK, AT_EACCESS) != 0) return;
  std::error_code error;
  const auto space = std::filesystem::space(scratch_directory, error);
  if (error || space.available < (2_MiB).count || lies_in_memory(scratch_directory)) return;
  const auto size =
      rounded_down(std::min(Bytes{space.available / 2}, machine.file_size_limit.value_or(Bytes{SIZE_MAX})));
  if (size == 0_B) return;
  const bool direct = discover_direct_io(scratch_directory).usable;
  specs.push_back(direct ? tiers::file(scratch_directory, size) : tiers::mapped(scratch_directory, size));
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
    throw ConfigError{"this machine has no memory of the role", spec.model, 0,
                      "for this process it has " + names_of(groups)};
  found.kind = TierKind::Numa;
  found.nodes = group->node_list();
  return found;
}

std::vector<TierSpec> suggest_tiers(const Machine& machine) {
  std::vector<TierSpec> specs;
  add_memory(specs, machine);
  add_disk(specs, machine);
  return specs;
}

}  // namespace tier
