// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tiers on persistent memory.
#include <tier/memory/tiers.hpp>

#include <memory>

namespace tier {

/// Whether this library was built with libpmem.
[[nodiscard]] bool has_pmem() noexcept;

/// \param persistent  the model where the path is persistent memory   \param mapped  where it is another file
/// \throws            `TierError` naming the call, the tier and the path
/// \pre               `has_pmem()`
[[nodiscard]] std::unique_ptr<Tier> make_pmem_tier(const TierSpec& spec, const TierModel& persistent,
                                                   const TierModel& mapped);

}  // namespace tier
