// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/control_groups.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tier::bench {
namespace {

namespace fs = std::filesystem;

struct Mount {
  fs::path root, point;  // the mounted part of the tree, and its mount point
};

bool has_word(const std::string& list, const std::string& word, char separator) {
  std::istringstream words{list};
  for (std::string each; std::getline(words, each, separator);) {
    if (each == word) return true;
  }
  return false;
}

/// Parses `36 35 98:0 /root /point options [fields] - type source options`, as in proc(5).
std::optional<Mount> mount_of(const std::string& line, int version) {
  std::istringstream words{line};
  std::string skipped, root, point, type, source, options;
  words >> skipped >> skipped >> skipped >> root >> point;
  while (words >> skipped && skipped != "-") {
  }
  words >> type >> source >> options;
  const bool wanted = version == 1 ? type == "cgroup" && has_word(options, "memory", ',') : type == "cgroup2";
  if (!wanted) return {};
  return Mount{root, point};
}

std::optional<Mount> find_mount(const fs::path& process, int version) {
  std::ifstream lines{process / "mountinfo"};
  for (std::string line; std::getline(lines, line);) {
    if (auto mount = mount_of(line, version)) return mount;
  }
  return {};
}

/// Finds the group in `4:memory:/a/b` (version 1) or `0::/a/b` (version 2).
fs::path group_of(const fs::path& process, int version) {
  std::ifstream lines{process / "cgroup"};
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    if (version == 1 ? has_word(controllers, "memory", ',') : line.starts_with("0::"))
      return line.substr(second + 1);
  }
  return "/";
}

[[noreturn]] void fail(const std::string& what, std::error_code error = last_system_error()) {
  throw TierError{error, what};
}

void write_text(const fs::path& file, std::string_view text) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) fail("opening \"" + file.string() + "\"");
  const auto written = ::write(descriptor, text.data(), text.size());
  const auto error = last_system_error();
  ::close(descriptor);
  if (written < 0) fail("writing \"" + std::string{text} + "\" to \"" + file.string() + "\"", error);
}

bool names_memory(const fs::path& file) {
  std::ifstream words{file};
  for (std::string word; words >> word;) {
    if (word == "memory") return true;
  }
  return false;
}

}  // namespace

ControlGroups find_control_groups(const fs::path& process) {
  for (const int version : {1, 2}) {
    const auto mount = find_mount(process, version);
    if (!mount) continue;
    // In a container the mount may not show the tree's root; a group outside it is not visible to us.
    const auto below = group_of(process, version).lexically_relative(mount->root);
    const bool at_top = below.empty() || *below.begin() == ".." || below == ".";
    return {version, mount->point, at_top ? mount->point : mount->point / below};
  }
  throw NoMemoryGroup{std::make_error_code(std::errc::no_such_file_or_directory),
                      (process / "mountinfo").string() + " has no control groups that limit memory"};
}

bool limit_memory(const fs::path& group, int version, Bytes limit) {
  const auto bytes = std::to_string(limit.count);
  write_text(group / (version == 1 ? "memory.limit_in_bytes" : "memory.max"), bytes);
  // Version 1 limits the sum of memory and swap, version 2 swap. A kernel that does not count swap has no such file.
  const auto swap = group / (version == 1 ? "memory.memsw.limit_in_bytes" : "memory.swap.max");
  if (std::error_code error; !fs::exists(swap, error) && !error) return false;
  write_text(swap, version == 1 ? bytes : "0");
  return true;
}

bool passes_memory_on(const fs::path& group) {
  const auto controllers = group / "cgroup.controllers";
  if (!names_memory(controllers))
    fail("\"" + controllers.string() + "\" does not name memory",
         std::make_error_code(std::errc::not_supported));
  return names_memory(group / "cgroup.subtree_control");
}

void pass_memory_on(const fs::path& group) { write_text(group / "cgroup.subtree_control", "+memory"); }

}  // namespace tier::bench
