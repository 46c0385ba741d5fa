// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Owns the folder of a control group, and removes it even if the program is killed.
#include <sys/types.h>

#include <filesystem>

namespace tier::bench {

/// A child process waits for the end of this object or of the program. It then kills what is still in the group, and
/// removes the folder.
/// \threadsafety  Externally synchronised.
class GroupGuard {
 public:
  /// Makes the folder.
  /// \param takes_memory_back  at the end, stop the parent from passing on memory limits, unless the number of groups below
  ///                           it has changed, which may rely on these
  /// \throws                   `TierError` naming the call and the folder
  explicit GroupGuard(std::filesystem::path folder, bool takes_memory_back = false);
  ~GroupGuard();
  GroupGuard(const GroupGuard&) = delete;
  GroupGuard& operator=(const GroupGuard&) = delete;

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  std::filesystem::path folder_;
  int end_ = -1;  // the guard reads the other end, and sees when this one is closed
  pid_t guard_ = -1;
};

}  // namespace tier::bench
