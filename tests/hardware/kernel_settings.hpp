// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Settings that a test changes for all of an emulated machine: the kernel's, and control groups.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace tier::test {

/// \return  false if the kernel refuses the value, or has no such file
inline bool write_to(const std::string& path, const std::string& value) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool taken = ::write(file, value.data(), value.size()) == static_cast<::ssize_t>(value.size());
  ::close(file);
  return taken;
}

/// Gives a setting another value, and restores it at the end.
class Setting {
 public:
  Setting(std::string path, const std::string& value) : path_{std::move(path)} {
    std::ifstream{path_} >> before_;
    taken_ = !before_.empty() && write_to(path_, value);
  }
  ~Setting() {
    if (taken_) write_to(path_, before_);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

  /// False if the kernel has no such setting.
  [[nodiscard]] bool taken() const { return taken_; }

 private:
  std::string path_, before_;
  bool taken_ = false;
};

/// A control group of version 2.
class ControlGroup {
 public:
  ControlGroup() { made_ = ::mkdir(path_.c_str(), 0755) == 0; }
  ~ControlGroup() {
    if (made_) CHECK(::rmdir(path_.c_str()) == 0);
  }
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;

  /// \return  false if the kernel refuses the value, or has no such control groups
  [[nodiscard]] bool set(const std::string& file, const std::string& value) const {
    return write_to(path_ + "/" + file, value);
  }
  /// Keeps this process in the group: pages that it faults in meanwhile are charged to the group, and stay charged to it.
  class Stay {
   public:
    explicit Stay(const ControlGroup& group) { REQUIRE(group.set("cgroup.procs", "0")); }
    ~Stay() { CHECK(write_to("/sys/fs/cgroup/cgroup.procs", "0")); }
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;
  };

 private:
  std::string path_ = "/sys/fs/cgroup/tier-test";
  bool made_;
};

}  // namespace tier::test
