// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fcntl.h>
#include <unistd.h>
#include <tier/memory/discovery.hpp>
#include <tier/memory/suggested_tiers.hpp>
#include <tier/memory/tier_graph.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>

namespace tier {
namespace {

constexpr const char* scratch_directory = "/var/tmp";  // on a disk, unlike /tmp on many systems
constexpr Bytes unit = 1_MiB;

Bytes rounded_down(Bytes size) { return {size.count / unit.count * unit.count}; }

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

std::vector<TierSpec> suggest_tiers(const Machine& machine) {
  std::vector<TierSpec> specs;
  add_memory(specs, machine);
  add_disk(specs, machine);
  return specs;
}

}  // namespace tier
