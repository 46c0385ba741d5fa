// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where the system's memory control groups are, and where the caller is among them.
#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>

#include <filesystem>

namespace tier::bench {

/// No group can be made here: names what was tried and why it failed.
class NoMemoryGroup : public TierError {
  using TierError::TierError;
};

/// The tree of groups that limits memory: that of version 1 where one is mounted, else that of version 2.
struct ControlGroups {
  int version = 2;
  std::filesystem::path top;
  std::filesystem::path ours;  ///< the process's group: `top` or below
};

/// \param process  a folder with `mountinfo` and `cgroup` as in proc(5)
/// \throws         `NoMemoryGroup` if no tree that limits memory is mounted
ControlGroups find_control_groups(const std::filesystem::path& process);

/// Limits what a group may have of memory and page cache together, and forbids it swap.
/// \param version  of the tree that it is in
/// \return         false if the kernel does not count a group's swap: then it may have any amount besides
/// \throws         `TierError` naming the file that could not be written, whichever it is
bool limit_memory(const std::filesystem::path& group, int version, Bytes limit);

/// Whether a group of version 2 lets those below it have limits of memory.
/// \throws  `TierError` if it cannot, having none itself
bool passes_memory_on(const std::filesystem::path& group);
/// Makes it do so.   \throws  `TierError` naming the file that could not be written
void pass_memory_on(const std::filesystem::path& group);

}  // namespace tier::bench
