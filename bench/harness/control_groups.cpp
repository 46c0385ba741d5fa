// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/control_groups.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace tier::bench {
namespace {

namespace fs = std::filesystem;

struct Mount {
  fs::path root, point;  // what of the tree is mounted, and where
};

bool has_word(const std::string& list, const std::string& word, char separator) {
  std::istringstream words{list};
  for (std::string each; std::getline(words, each, separator);) {
    if (each == word) return true;
  }
  return false;
}

/// `36 35 98:0 /root /point options [fields] - type source options`, as in proc(5).
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

/// `4:memory:/a/b` in version 1, `0::/a/b` in version 2.
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

}  // namespace

ControlGroups find_control_groups(const fs::path& process) {
  for (const int version : {1, 2}) {
    const auto mount = find_mount(process, version);
    if (!mount) continue;
    // In a container the tree's root may not be what is mounted; a group outside it is not ours to see.
    const auto below = group_of(process, version).lexically_relative(mount->root);
    const bool at_top = below.empty() || *below.begin() == ".." || below == ".";
    return {version, mount->point, at_top ? mount->point : mount->point / below};
  }
  throw NoMemoryGroup{std::make_error_code(std::errc::no_such_file_or_directory),
                      (process / "mountinfo").string() + " has no control groups that limit memory"};
}

}  // namespace tier::bench
