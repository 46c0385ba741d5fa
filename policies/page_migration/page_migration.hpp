// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What operating systems do: periodically, what was touched in slow memory changes places with what was not in fast.
#include <tier/policy/policy.hpp>
#include <tier/policy/policy_options.hpp>

#include <memory>

namespace tier {

/// A baseline to compare with. Blocks start in fast memory until it is full, are used where they are, and are looked at
/// every `period_ms` (100): those in slow memory that were touched at least `touches` (2) times since then are fetched,
/// those touched most often first, at most `share` (0.25) of the fast memory at a time; what was used longest ago leaves
/// for them. Hints are ignored. For pages as a system has them, let objects have windows, which are cut into blocks.
/// \throws  `ConfigError` for an unknown option or value
/// \see     what Linux does between memory nodes (NUMA balancing, TPP), which ReDL is compared with
[[nodiscard]] std::unique_ptr<Policy> make_page_migration(PolicyOptions options);

}  // namespace tier
