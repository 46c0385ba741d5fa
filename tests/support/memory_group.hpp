// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A control group with a memory limit, version 1 or 2; needs privilege.
#include <unistd.h>
#include <tier/core/bytes.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tier::test {

/// Makes a group below that of the test, and removes it at the end.
class MemoryGroup {
 public:
  explicit MemoryGroup(Bytes limit) {
    std::ifstream groups{"/proc/self/cgroup"};
    for (std::string line; folder_.empty() && std::getline(groups, line);) {
      const auto group = line.substr(line.rfind(':') + 1);
      if (line.find(":memory:") != std::string::npos)
        make("/sys/fs/cgroup/memory" + group, "memory.limit_in_bytes", limit);
      else if (line.starts_with("0::"))
        make("/sys/fs/cgroup" + group, "memory.max", limit);
    }
    if (folder_.empty()) MESSAGE("SKIPPED: this system does not let a test make a control group of memory");
  }
  ~MemoryGroup() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove(folder_, ignored);
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  [[nodiscard]] bool made() const { return !folder_.empty(); }
  /// Moves the calling process into the group for good.
  void enter() const { std::ofstream{folder_ + "/cgroup.procs"} << ::getpid(); }

 private:
  void make(const std::string& parent, const std::string& file, Bytes limit) {
    const auto folder = parent + "/tier-test-" + std::to_string(::getpid());
    std::error_code error;
    if (!std::filesystem::create_directory(folder, error)) return;
    std::ofstream limits{folder + "/" + file};
    if (limits << limit.count << std::flush)
      folder_ = folder;
    else
      std::filesystem::remove(folder, error);
  }

  std::string folder_;  // empty if none could be made
};

}  // namespace tier::test
