// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The policies that come with the library.
#include <tier/policy/policy.hpp>
#include <tier/policy/policy_options.hpp>
#include <tier/policy/row_policy.hpp>

#include <memory>
#include <span>
#include <string_view>

namespace tier::detail {

struct BuiltinPolicy {
  std::string_view name;
  std::unique_ptr<Policy> (*make)(PolicyOptions);
};
struct BuiltinRowPolicy {
  std::string_view name;
  std::unique_ptr<RowPolicy> (*make)();
};
/// Both lists are in alphabetical order.
[[nodiscard]] std::span<const BuiltinPolicy> builtin_policies() noexcept;
[[nodiscard]] std::span<const BuiltinRowPolicy> builtin_row_policies() noexcept;

}  // namespace tier::detail
