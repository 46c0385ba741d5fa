// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Chooses the tier for a block that leaves another, by the models of tiers.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/memory/tier.hpp>
#include <tier/policy/policy.hpp>

#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <span>

namespace tier {

using TierOrder = boost::container::static_vector<TierIndex, max_tiers>;

/// Returns the tiers slower than `from`, the cheapest for a block first. The cost is a copy to the tier, unless it holds a
/// current one, plus one copy from there to the fastest tier, which the block's next use will take. Of equals the slowest
/// is first, because nothing moves on from there.
/// \param models   of all tiers, 1 to `max_tiers`, the fastest first
/// \param current  bit t: tier t holds a current copy
[[nodiscard]] TIER_EXPORT TierOrder demotion_order(std::span<const TierModel> models, TierIndex from,
                                                   Bytes size, std::uint32_t current = 0) noexcept;

}  // namespace tier
