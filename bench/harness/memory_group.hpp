// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  An allowance of memory for other programs: a control group of Linux, version 1 or 2.
#include <tier/core/bytes.hpp>

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/control_groups.hpp"
#include "harness/group_guard.hpp"

namespace tier::bench {

/// How a program ended.
struct Ended {
  int code = -1;   ///< its exit status, or -1
  int signal = 0;  ///< the one that ended it, or 0
  /// Most memory in use at once. It is the group's, with page cache, over all it ever ran; where the kernel does not
  /// count that (version 2 before Linux 5.19), the program's alone.
  Bytes peak{};
  std::string output{};  ///< what it wrote to stdout

  /// `ended with status 2`, `ended by signal 9`
  [[nodiscard]] std::string fate() const;
};

/// Runs a program as `MemoryGroup::run` does, in the caller's group; the peak is that of its resident memory.
Ended run_program(std::vector<std::string> arguments, const std::atomic<bool>& stop = false);

/// A group below that of the calling process, or below one of its parents. It is removed at the end of this object,
/// and at the end of the process however that comes; what still runs in it is killed, and a parent that was made to pass
/// on limits of memory for it alone does so no more.
/// \threadsafety  Externally synchronised.
class MemoryGroup {
 public:
  /// \param limit    of memory and page cache together, without swap if the kernel counts that; none: it only counts
  /// \param process  the calling process as a folder of proc(5)
  /// \throws         `NoMemoryGroup` naming each place that was tried, and why it would not do
  explicit MemoryGroup(std::optional<Bytes> limit = {}, const std::filesystem::path& process = "/proc/self");

  /// Runs a program in the group, with the caller's environment and files but for stdout, and returns when it has
  /// ended.
  /// \param arguments  its path, then what it is told
  /// \param stop       once set, the program is sent SIGINT
  /// \throws           `TierError` if it cannot be started in the group.
  Ended run(std::vector<std::string> arguments, const std::atomic<bool>& stop = false);

  /// True if what runs in it can have no swap. False with a limit: the kernel does not count swap, and what is swapped
  /// out comes on top.
  [[nodiscard]] bool forbids_swap() const noexcept { return forbids_swap_; }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return guard_->folder(); }

 private:
  void make_below(const std::filesystem::path& parent, std::optional<Bytes> limit);
  [[nodiscard]] std::optional<Bytes> peak() const;

  ControlGroups groups_;
  std::optional<GroupGuard> guard_;
  bool forbids_swap_ = false;
};

}  // namespace tier::bench
