// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/memory_limit.hpp"

#include <fstream>
#include <string>

#include "memory/system_files.hpp"

namespace tier {
namespace {

using Limit = std::optional<Bytes>;

Limit lower(Limit a, Limit b) { return !a || (b && *b < *a) ? b : a; }

/// The lowest limit on the way from a group, such as `/a/b`, to the root of its hierarchy. In strings: libstdc++'s
/// paths free twice when memory runs out while they are joined.
Limit lowest_limit(const std::string& root, std::string group, const char* file) {
  Limit lowest;
  for (;; group.resize(group.find_last_of('/'))) {
    // A number, or `max`. A group may be out of sight, where its container shows the hierarchy from there on.
    if (const auto limit = to_number(read_line(std::string{root}.append(group).append("/").append(file))))
      lowest = lower(lowest, Bytes{*limit});
    if (group.find_last_of('/') == std::string::npos) return lowest;
  }
}

}  // namespace

/// Lines are `ID:CONTROLLERS:PATH`, without controllers for version 2.
Limit find_memory_limit(const SystemPaths& paths) {
  const auto root = paths.sysfs + "/fs/cgroup";
  Limit lowest;
  std::ifstream groups{paths.procfs + "/cgroup"};
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = std::string{","}.append(line, first + 1, second - first - 1).append(",");
    const auto path = line.substr(second + 1);
    if (controllers == ",,")
      for (const auto* file : {"memory.max", "memory.high"})
        lowest = lower(lowest, lowest_limit(root, path, file));
    if (controllers.find(",memory,") != std::string::npos)
      lowest = lower(lowest, lowest_limit(root + "/memory", path, "memory.limit_in_bytes"));
  }
  return lowest;
}

}  // namespace tier
