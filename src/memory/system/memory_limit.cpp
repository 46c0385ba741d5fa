// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/system/memory_limit.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "memory/system/system_files.hpp"

namespace tier {
namespace {

using Limit = std::optional<Bytes>;
using Names = std::span<const char* const>;

/// A version of control groups: where they are, and how their files are named.
struct Version {
  const char* usual;  ///< usual place of the mount, in /sys
  const char* type;   ///< of the mount
  Names limits;
  const char* used;
  Names reclaimable;  ///< lines of memory.stat, children included
  const char* swap_limit;
  const char* swap_used;
  bool swap_has_memory;  ///< these count memory and swap together
};

constexpr const char* limits_1[] = {"/memory.limit_in_bytes"};
constexpr const char* reclaimable_1[] = {"total_active_file", "total_inactive_file"};
constexpr Version version_1{"/fs/cgroup/memory",
                            "cgroup",
                            limits_1,
                            "/memory.usage_in_bytes",
                            reclaimable_1,
                            "/memory.memsw.limit_in_bytes",
                            "/memory.memsw.usage_in_bytes",
                            true};
constexpr const char* limits_2[] = {"/memory.max", "/memory.high"};
constexpr const char* reclaimable_2[] = {"active_file", "inactive_file", "slab_reclaimable"};
constexpr Version version_2{"/fs/cgroup",           "cgroup2",     limits_2,
                            "/memory.current",      reclaimable_2, "/memory.swap.max",
                            "/memory.swap.current", false};

Limit lower(Limit a, Limit b) { return !a || (b && *b < *a) ? b : a; }

// Paths are strings, because std::filesystem's paths free memory twice if it runs out while they are joined (libstdc++).

/// Returns the lowest limit of one group. Its files have a number, or `max`. A container may hide groups above its root.
Limit limit_of(const std::string& group, const Version& version) {
  Limit lowest;
  for (const auto* file : version.limits)
    if (const auto limit = to_number(read_line(group + file))) lowest = lower(lowest, Bytes{*limit});
  return lowest;
}

/// Returns the used memory that the system could not take back if the group needed it.
Bytes used_by(const std::string& group, const Version& version) {
  const auto all = to_number(read_line(group + version.used));
  auto statistics = open_text(group + "/memory.stat");
  if (!all || statistics.str().empty()) return 0_B;
  auto used = Bytes{*all};
  std::string key;
  for (std::size_t size = 0; statistics >> key >> size;)
    if (std::ranges::find(version.reclaimable, key) != version.reclaimable.end())
      used -= std::min(used, Bytes{size});
  return used;
}

Limit left_of(const std::string& group, const Version& version) {
  const auto limit = limit_of(group, version);
  return limit ? Limit{*limit - std::min(*limit, used_by(group, version))} : limit;
}

/// Returns the swap that the group may still use.
Bytes swap_left_of(const std::string& group, const Version& version, Bytes left) {
  const auto free = read_kib("/proc/meminfo", "SwapFree:");
  const auto limit = to_number(read_line(group + version.swap_limit));
  if (free == 0_B || !limit) return free;
  const auto used = to_number(read_line(group + version.swap_used)).value_or(0);
  Bytes allowed{*limit - std::min(*limit, used)};
  if (version.swap_has_memory) allowed -= std::min(allowed, left);
  return std::min(free, allowed);
}

Limit left_with_swap_of(const std::string& group, const Version& version) {
  const auto left = left_of(group, version);
  return left ? Limit{*left + swap_left_of(group, version, *left)} : left;
}

bool is_within(const std::string& group, const std::string& root) {
  return root == "/" || (group + "/").starts_with(root + "/");
}

/// Finds the mount of a hierarchy, if possible one that includes the group; the usual place if the system does not say.
Mount find_mount(const SystemPaths& paths, const std::string& group, const Version& version) {
  Mount found{"/", paths.sysfs + version.usual, {}, {}, {}};
  bool any = false;
  for (auto& mount : read_mounts(paths.procfs + "/mountinfo", " - cgroup")) {
    const bool of_memory = &version == &version_2 || lists(mount.options, "memory");
    if (mount.type != version.type || !of_memory) continue;
    const bool fits = is_within(group, mount.root);
    if (fits || !any) found = std::move(mount);
    any = true;
    if (fits) break;
  }
  return found;
}

using Of = Limit (*)(const std::string& group, const Version&);

/// Returns the lowest limit from a group, such as `/a/b`, up to the root of its hierarchy.
Limit lowest_on_the_way(const SystemPaths& paths, std::string group, const Version& version, Of of) {
  const auto mount = find_mount(paths, group, version);
  // In a container its group may be mounted as the root, while /proc gives the path outside.
  if (mount.root != "/" && is_within(group, mount.root)) group.erase(0, mount.root.size());
  Limit lowest;
  for (;; group.resize(group.find_last_of('/'))) {
    lowest = lower(lowest, of(mount.directory + group, version));
    if (group.find_last_of('/') == std::string::npos) return lowest;
  }
}

/// Returns the lowest limit of all groups. Lines are `ID:CONTROLLERS:PATH`, without controllers for version 2.
Limit lowest_of_groups(const SystemPaths& paths, Of of) {
  Limit lowest;
  auto groups = open_text(paths.procfs + "/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) lowest = lower(lowest, lowest_on_the_way(paths, group, version_2, of));
    if (lists(controllers, "memory")) lowest = lower(lowest, lowest_on_the_way(paths, group, version_1, of));
  }
  return lowest;
}

}  // namespace

Limit find_memory_limit(const SystemPaths& paths) { return lowest_of_groups(paths, limit_of); }

Limit find_memory_left(const SystemPaths& paths) { return lowest_of_groups(paths, left_of); }

Limit find_memory_left_with_swap(const SystemPaths& paths) {
  return lowest_of_groups(paths, left_with_swap_of);
}

}  // namespace tier
