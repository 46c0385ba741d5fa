// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tiers on persistent memory.
#include <tier/memory/tier.hpp>
#include <tier/memory/tier_spec.hpp>

#include <memory>

namespace tier {

/// True if this library was built with libpmem.
[[nodiscard]] bool has_pmem() noexcept;

/// Makes a tier on a file or a DAX device.
/// \param persistent  model if the path is persistent memory   \param mapped  model if it is another file
/// \throws            `TierError` naming the call, the tier and the path; `ConfigError` if this library was built without
///                    libpmem
[[nodiscard]] std::unique_ptr<Tier> make_pmem_tier(const TierSpec& spec, const TierModel& persistent,
                                                   const TierModel& mapped);

/// Makes a tier on a whole DAX device; a test may pass an existing file.   \throws  as above
[[nodiscard]] std::unique_ptr<Tier> make_pmem_device_tier(const TierSpec& spec, const TierModel& model);

}  // namespace tier
