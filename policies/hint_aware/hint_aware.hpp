// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Believes the program's hints: evicts what it archived, fetches what it announced.
#include <tier/policy/policy.hpp>
#include <tier/policy/policy_options.hpp>

#include <memory>

namespace tier {

/// CachedArrays' policy with its three optimisations as options, each `on` or `off`, all on by default:
/// `local` (L: new objects start in the fastest tier and need no copy elsewhere; off: they start in the slowest and
/// are copied up before their first use but for overwriting), `early_free` (M: `retire` frees at once; off: it marks garbage), `prefetch` (P:
/// what is read, or will be, is fetched to the fastest tier; off: reads happen where the object is).
/// `mode=0|L|LM|LMP` sets all three as the paper does, and `keep` to off. `keep`: what is not archived stays in the fastest
/// tier, elsewhere, where only the pieces that free room is in make it leave, and of what could make
/// room, what was asked for ahead leaves last; on by default. `free=SHARE` (0.5): while less of the fastest tier is free,
/// archived blocks leave it in the background, those archived first first, so that nobody waits for the room they have;
/// 0: only when room is wanted.
/// \throws  `ConfigError` for an unknown option or value
/// \see     CachedArrays, IPDPS 2024
[[nodiscard]] std::unique_ptr<Policy> make_hint_aware(PolicyOptions options);

}  // namespace tier
