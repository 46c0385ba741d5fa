// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/system_files.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <utility>

namespace tier {
namespace {

/// Of a word in a list of mounts: a blank is \040 there.
std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 4, value, 8).ptr == text.data() + i + 4) {
      result += static_cast<char>(value);
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace

std::string read_line(const std::string& path) {
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<std::size_t> to_number(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end != text.data() ? std::optional{number} : std::nullopt;
}

std::size_t read_value(const std::string& path, std::string_view key) {
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);) {
    const auto at = line.find(key);
    if (at == std::string::npos) continue;
    const auto digits = line.find_first_of("0123456789", at + key.size());
    if (digits != std::string::npos) return to_number(std::string_view{line}.substr(digits)).value_or(0);
  }
  return 0;
}

Bytes read_kib(const std::string& path, std::string_view key) { return 1_KiB * read_value(path, key); }

bool lists(std::string_view list, std::string_view word) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const auto end = std::min(list.find(',', begin), list.size());
    if (list.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

/// Lines are `ID PARENT MAJOR:MINOR ROOT DIRECTORY OPTIONS [TAG ...] - TYPE DEVICE OPTIONS`.
std::vector<Mount> read_mounts(const std::string& path, std::string_view text) {
  std::vector<Mount> mounts;
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos || line.find(text) == std::string::npos) continue;
    std::istringstream before{line.substr(0, dash)}, behind{line.substr(dash + 3)};
    std::string word, root, directory;
    for (int i = 0; i < 3; ++i) before >> word;
    before >> root >> directory;
    Mount mount{unescaped(root), unescaped(directory), {}, {}, {}};
    behind >> mount.type >> mount.device >> mount.options;
    mount.device = unescaped(mount.device);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

}  // namespace tier
