// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Policies under which replays are tested.
#include <tier/replay/replay.hpp>
#include <tier/runtime/policies.hpp>

#include <string>
#include <vector>

#include "runtime/builtin_policies.hpp"

namespace tier::test {

/// All built-in policies, `hint_aware` in each of its modes, and `belady`.
inline const std::vector<std::string> policies = [] {
  std::vector<std::string> specs{"hint_aware:mode=0", "hint_aware:mode=L", "hint_aware:mode=LM", "belady"};
  for (const auto& policy : detail::builtin_policies()) specs.emplace_back(policy.name);
  return specs;
}();

inline replay::PolicyFactory named(const std::string& spec) {
  return
      [spec](const FutureUses& future) { return spec == "belady" ? make_belady(future) : make_policy(spec); };
}

}  // namespace tier::test
