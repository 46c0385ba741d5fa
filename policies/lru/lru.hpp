// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The textbook cache: a used block comes to the fastest tier, and the least recently used one leaves it.
#include <tier/policy/policy.hpp>
#include <tier/policy/policy_options.hpp>

#include <memory>

namespace tier {

/// Makes the policy. Recency is true recency: every use counts, not only misses. Hints are ignored. Takes no options.
/// \throws  `ConfigError` for any
[[nodiscard]] std::unique_ptr<Policy> make_lru(PolicyOptions options);

}  // namespace tier
