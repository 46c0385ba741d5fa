// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Migrates as operating systems do: periodically, touched blocks in slow memory replace others in fast memory.
#include <tier/policy/policy.hpp>
#include <tier/policy/policy_options.hpp>

#include <memory>

namespace tier {

/// Makes a baseline to compare with. Blocks start in fast memory until it is full and are used where they are. Every
/// `period_ms` (100), blocks in slow memory that were touched at least `touches` (2) times since the last look are
/// fetched, those touched most often first, at most `share` (0.25) of the fast memory at a time; the least recently used
/// blocks leave for them. Hints are ignored. For pages, give objects windows, which are cut into blocks.
/// \throws  `ConfigError` for an unknown option or value
/// \see     Linux's migration between memory nodes (NUMA balancing, TPP), which ReDL is compared with
[[nodiscard]] std::unique_ptr<Policy> make_page_migration(PolicyOptions options);

}  // namespace tier
