// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where a block that leaves a tier goes, by what the models of tiers say.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/memory/tier.hpp>
#include <tier/policy/policy.hpp>

#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <span>

namespace tier {

using TierOrder = boost::container::static_vector<TierIndex, max_tiers>;

/// The tiers slower than `from`, those first for which a block costs least: the copy to there, unless a current one is
/// there, and the copy from there to the fastest tier, once, which is what its next use will take. Of equals the slowest
/// is first: nothing moves on from there.
/// \param models   of all tiers, 1 to `max_tiers`, the fastest first
/// \param current  bit t: tier t holds a current copy
[[nodiscard]] TIER_EXPORT TierOrder demotion_order(std::span<const TierModel> models, TierIndex from,
                                                   Bytes size, std::uint32_t current = 0) noexcept;

}  // namespace tier
