// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "option_values.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace tier::tool {
namespace {

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(at, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

Values values_of(const CLI::Option& option) {
  const auto type = option.get_type_name();
  const auto open = type.find('{'), close = type.find('}');
  if (open != std::string::npos && close != std::string::npos)
    return {split(std::string_view{type}.substr(open + 1, close - open - 1), ','), false};
  Values values;
  for (auto& part : split(type, '|')) {
    if (part == "FILE" || part == "FOLDER")
      values.files = true;
    else if (std::ranges::all_of(part, [](unsigned char c) { return std::islower(c) != 0; }))
      values.words.push_back(std::move(part));
  }
  return values;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_snames()) names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace tier::tool
