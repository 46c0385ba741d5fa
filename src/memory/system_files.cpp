// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/system_files.hpp"

#include <charconv>
#include <fstream>

namespace tier {

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

}  // namespace tier
