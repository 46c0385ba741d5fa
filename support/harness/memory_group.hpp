// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Limits the memory of other programs by a control group of Linux, version 1 or 2.
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
  int code = -1;   ///< exit status, or -1
  int signal = 0;  ///< the signal that ended it, or 0
  /// Peak memory use: of the group, with page cache, over all its programs. If the kernel does not count that (version 2
  /// before Linux 5.19), of this program alone.
  Bytes peak{};
  std::string output{};  ///< its stdout

  /// Formats `ended with status 2` or `ended by signal 9`.
  [[nodiscard]] std::string fate() const;
};

/// Runs a program as `MemoryGroup::run` does, in the caller's group. The peak is that of its resident memory.
Ended run_program(std::vector<std::string> arguments, const std::atomic<bool>& stop = false);

/// Makes a group below that of the calling process, or below one of its parents. It is removed at the end of this object,
/// and at the end of the process however it ends. Programs still in it are killed. A parent that was made to pass on memory
/// limits only for this group stops doing so.
/// \threadsafety  Externally synchronised.
class MemoryGroup {
 public:
  /// \param limit    of memory and page cache together, without swap if the kernel counts that; none: only counts
  /// \param process  the calling process, as a folder of proc(5)
  /// \throws         `NoMemoryGroup` naming each place that was tried, and why it failed
  explicit MemoryGroup(std::optional<Bytes> limit = {}, const std::filesystem::path& process = "/proc/self");

  /// Runs a program in the group, with the caller's environment and files except for stdout, and returns when it has ended.
  /// \param arguments  its path, then its arguments
  /// \param stop       once set, the program gets SIGINT
  /// \throws           `TierError` if it cannot be started in the group
  Ended run(std::vector<std::string> arguments, const std::atomic<bool>& stop = false);

  /// True if programs in the group cannot swap. False with a limit means that the kernel does not count swap:
  /// swapped memory comes on top.
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
