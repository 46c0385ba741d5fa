// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Finds the unnamed file of a tier, for a test that damages it.
#include <filesystem>
#include <string>
#include <system_error>

namespace tier::test {

/// Returns the path in /proc of a file of this process that is open in a directory, even if unlinked; empty if none is.
inline std::string open_file_in(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.starts_with(directory + "/")) return entry.path().string();
  }
  return {};
}

}  // namespace tier::test
