// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Fast until full, then the next tier; never moves on its own: the baseline.
#include <tier/policy/policy.hpp>
#include <tier/policy/policy_options.hpp>

#include <memory>

namespace tier {

/// What NUMA systems do by default. Takes no options.   \throws  `ConfigError` for any
[[nodiscard]] std::unique_ptr<Policy> make_first_touch(PolicyOptions options);

}  // namespace tier
