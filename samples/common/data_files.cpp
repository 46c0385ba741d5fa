// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/data_files.hpp"

#include <map>
#include <string>
#include <utility>

namespace sample {

namespace fs = std::filesystem;

std::string_view unpacked_name(std::string_view name) {
  for (const std::string_view suffix : {".gz", ".zst"})
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  return name;
}

std::vector<fs::path> files_named(const fs::path& folder, std::string_view begin, std::string_view end) {
  if (!fs::is_directory(folder)) return {};
  std::map<std::string, fs::path> files;
  for (const auto& entry : fs::directory_iterator{folder}) {
    const auto name = entry.path().filename().string();
    const std::string plain{unpacked_name(name)};
    if (entry.is_directory() || !plain.starts_with(begin) || !plain.ends_with(end)) continue;
    auto& known = files[plain];
    if (known.empty() || entry.path() < known) known = entry.path();  // the unpacked name sorts first
  }
  std::vector<fs::path> paths;
  for (auto& [name, path] : files) paths.push_back(std::move(path));
  return paths;
}

}  // namespace sample
