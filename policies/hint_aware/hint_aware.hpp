// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Believes the program's hints: evicts what it archived, fetches what it announced.
#include <tier/policy/policy.hpp>
#include <tier/policy/policy_options.hpp>

#include <memory>

namespace tier {

/// Makes CachedArrays' policy with its three optimisations as options, each `on` or `off`, all on by default:
/// `local` (L: new objects start in the fastest tier and need no copy elsewhere; off: they start in the slowest and are
/// copied up before their first use other than overwriting), `early_free` (M: `retire` frees at once; off: it marks
/// garbage), `prefetch` (P: objects that are read, or will be, are fetched to the fastest tier; off: they are read in
/// place). `mode=0|L|LM|LMP` sets all three as the paper does, and `keep` to off. `keep` (on by default): if only
/// fragmentation is in the way, blocks that are not archived move within the fastest tier instead of leaving it, and
/// prefetched blocks leave last. `free=SHARE` (0.5): while less of the fastest tier is free, archived blocks leave it in
/// the background, those archived first first, so that no thread waits for their room; 0: only when room is wanted.
/// \throws  `ConfigError` for an unknown option or value
/// \see     CachedArrays, IPDPS 2024
[[nodiscard]] std::unique_ptr<Policy> make_hint_aware(PolicyOptions options);

}  // namespace tier
