// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Finds the system's memory control groups, and the caller's group.
#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>

#include <filesystem>

namespace tier::bench {

/// Thrown if no group can be made. Names what was tried and why it failed.
class NoMemoryGroup : public TierError {
  using TierError::TierError;
};

/// The tree of groups that limits memory: version 1 if mounted, else version 2.
struct ControlGroups {
  int version = 2;
  std::filesystem::path top;
  std::filesystem::path ours;  ///< the process's group: `top` or below
};

/// Finds the tree and the group of a process.
/// \param process  a folder with `mountinfo` and `cgroup` as in proc(5)
/// \throws         `NoMemoryGroup` if no tree that limits memory is mounted
ControlGroups find_control_groups(const std::filesystem::path& process);

/// Limits a group's memory and page cache together, and forbids swap.
/// \param version  of the group's tree
/// \return         false if the kernel does not count a group's swap: the group may then swap without limit
/// \throws         `TierError` naming the file that could not be written
bool limit_memory(const std::filesystem::path& group, int version, Bytes limit);

/// True if a group of version 2 lets groups below it have memory limits.
/// \throws  `TierError` if it cannot, because it has none itself
bool passes_memory_on(const std::filesystem::path& group);
/// Makes the group do so.   \throws  `TierError` naming the file that could not be written
void pass_memory_on(const std::filesystem::path& group);

}  // namespace tier::bench
