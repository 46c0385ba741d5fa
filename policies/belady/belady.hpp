// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A policy that evicts the block whose next use is farthest, for replays, which know the future.
#include <tier/core/export.hpp>
#include <tier/policy/future_uses.hpp>
#include <tier/policy/policy.hpp>

#include <memory>

namespace tier {

/// See `<tier/runtime/policies.hpp>`, which declares it for programs.
[[nodiscard]] TIER_EXPORT std::unique_ptr<Policy> make_belady(const FutureUses& future);

}  // namespace tier
