// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Places blocks in the fastest tier until it is full, then in the next; never moves them: the baseline.
#include <tier/policy/policy.hpp>
#include <tier/policy/policy_options.hpp>

#include <memory>

namespace tier {

/// Makes the policy, which does what NUMA systems do by default. It takes no options.   \throws  `ConfigError` for any
[[nodiscard]] std::unique_ptr<Policy> make_first_touch(PolicyOptions options);

}  // namespace tier
