// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Owns the folder of a control group, and removes it even if the program is killed.
#include <sys/types.h>

#include <filesystem>

namespace tier::bench {

/// A process of its own waits for the end of this object or of the program; then it kills what is still in the group
/// and removes the folder.
/// \threadsafety  Externally synchronised.
class GroupGuard {
 public:
  /// Makes the folder.
  /// \param takes_memory_back  in the end its parent shall not pass on limits of memory any more, unless there are other
  ///                           groups below it than before: somebody may rely on it
  /// \throws                   `TierError` naming the call and the folder
  explicit GroupGuard(std::filesystem::path folder, bool takes_memory_back = false);
  ~GroupGuard();
  GroupGuard(const GroupGuard&) = delete;
  GroupGuard& operator=(const GroupGuard&) = delete;

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  std::filesystem::path folder_;
  int end_ = -1;  // its other side is read by the guard, which sees it closed
  pid_t guard_ = -1;
};

}  // namespace tier::bench
