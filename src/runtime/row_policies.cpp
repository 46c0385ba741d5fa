// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/core/suggestion.hpp>
#include <tier/runtime/row_policies.hpp>

#include <string>

#include "runtime/builtin_policies.hpp"

namespace tier {

std::unique_ptr<RowPolicy> make_row_policy(std::string_view name) {
  std::string allowed;
  for (const auto& policy : detail::builtin_row_policies()) {
    if (policy.name == name) return policy.make();
    allowed.append(allowed.empty() ? "" : ", ").append(policy.name);
  }
  if (name == "belady")
    throw ConfigError{
        "row policy \"belady\" must know all ids that will be asked for: "
        "a program makes it from a recording by make_belady_rows(ids); by name there are " +
        allowed};
  throw ConfigError{"unknown row policy" + detail::did_you_mean(name, allowed), name, 0, allowed};
}

std::vector<std::string_view> row_policy_names() {
  std::vector<std::string_view> names;
  names.reserve(detail::builtin_row_policies().size());
  for (const auto& policy : detail::builtin_row_policies()) names.push_back(policy.name);
  return names;
}

}  // namespace tier
