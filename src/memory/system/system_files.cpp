// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/system/system_files.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "core/descriptor.hpp"
#include "memory/system/pages.hpp"

namespace tier {
namespace {

/// Decodes a word in a list of mounts, in which a blank is \040.
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

std::istringstream open_text(const std::string& path) {
  return std::istringstream{detail::whole_file(path).value_or(std::string{})};
}

std::string read_line(const std::string& path) {
  auto file = open_text(path);
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
  auto file = open_text(path);
  for (std::string line; std::getline(file, line);) {
    const auto at = line.find(key);
    if (at == std::string::npos) continue;
    const auto digits = line.find_first_of("0123456789", at + key.size());
    if (digits != std::string::npos) return to_number(std::string_view{line}.substr(digits)).value_or(0);
  }
  return 0;
}

Bytes read_kib(const std::string& path, std::string_view key) { return 1_KiB * read_value(path, key); }

/// Sums, as the system does for available memory, over all zones: the high watermark plus what a zone keeps from requests
/// that could use another zone, at most the whole zone. Parts begin with `Node 0, zone Normal`, and have lines `high 285`
/// and `protection: (0, 954, 954)`; other lines have the key `high:`.
Bytes read_watermarks(const std::string& path, unsigned node) {
  auto file = open_text(path);
  const auto begin = "Node " + std::to_string(node) + ", zone";
  std::size_t pages = 0, high = 0, managed = 0;
  bool of_node = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Node ")) of_node = line.starts_with(begin);
    if (!of_node) continue;
    std::istringstream words{line};
    std::string key;
    words >> key;
    if (key == "high") words >> high;
    if (key == "managed") words >> managed;
    if (key != "protection:") continue;  // it comes last
    std::size_t most = 0;
    for (std::string number; words >> number;) {
      std::erase(number, '(');
      most = std::max(most, to_number(number).value_or(0));
    }
    pages += std::min(managed, high + most);
  }
  return Bytes{pages * page_size()};
}

bool lists(std::string_view list, std::string_view word) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const auto end = std::min(list.find(',', begin), list.size());
    if (list.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

/// Reads lines `ID PARENT MAJOR:MINOR ROOT DIRECTORY OPTIONS [TAG ...] - TYPE DEVICE OPTIONS`.
std::vector<Mount> read_mounts(const std::string& path, std::string_view text) {
  std::vector<Mount> mounts;
  auto file = open_text(path);
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
