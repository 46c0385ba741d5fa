// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The row policies that the library brings, by name.
#include <tier/policy/row_policy.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace tier {

/// \throws  `ConfigError` listing the names
/// \threadsafety  May be called by any thread, as all of this page.
[[nodiscard]] std::unique_ptr<RowPolicy> make_row_policy(std::string_view name);
/// In alphabetical order.
[[nodiscard]] std::vector<std::string_view> row_policy_names();

}  // namespace tier
