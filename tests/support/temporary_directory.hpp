// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A directory that the test removes when it ends, and a small disk if the system lets a test mount one.
#include <sys/mount.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace tier::test {

/// Owns a fresh directory, empty at first.
class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_{(std::filesystem::temp_directory_path() / "tier-test-XXXXXX").string()} {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error{"mkdtemp failed"};
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Mounts a tmpfs of a given size; needs privilege.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& size)
      : mounted_{::mount("none", path().c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0} {}
  ~SmallDisk() {
    if (mounted_) ::umount2(path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  /// False if the system refuses the mount; the test then skips with a message.
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] const std::string& path() const { return directory_.path(); }
  bool make_read_only() { return ::mount("none", path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0; }

 private:
  TemporaryDirectory directory_;
  bool mounted_;
};

}  // namespace tier::test
