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

/// On all of a DAX device. To a test a file that is there is one, too.   \throws  as above   \pre  likewise
[[nodiscard]] std::unique_ptr<Tier> make_pmem_device_tier(const TierSpec& spec, const TierModel& model);

}  // namespace tier
