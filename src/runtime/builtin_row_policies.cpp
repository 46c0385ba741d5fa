// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/runtime/row_policies.hpp>

#include <array>
#include <string>

#include "first_touch/first_touch_rows.hpp"
#include "hint_aware/hint_aware_rows.hpp"
#include "lru/lru_rows.hpp"

namespace tier {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<RowPolicy> (*make)();
};

constexpr std::array entries{Entry{"first_touch", make_first_touch_rows},
                             Entry{"hint_aware", make_hint_aware_rows}, Entry{"lru", make_lru_rows}};

}  // namespace

std::unique_ptr<RowPolicy> make_row_policy(std::string_view name) {
  std::string allowed;
  for (const auto& entry : entries) {
    if (entry.name == name) return entry.make();
    allowed.append(allowed.empty() ? "" : ", ").append(entry.name);
  }
  throw ConfigError{"unknown row policy", name, 0, allowed};
}

std::vector<std::string_view> row_policy_names() {
  std::vector<std::string_view> names;
  names.reserve(std::size(entries));
  for (const auto& entry : entries) names.push_back(entry.name);
  return names;
}

}  // namespace tier
