// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tells a policy when each block will be used next, which only a replay knows.
#include <tier/core/export.hpp>
#include <tier/policy/policy.hpp>

#include <cstdint>
#include <limits>

namespace tier {

inline constexpr std::uint64_t never_used = std::numeric_limits<std::uint64_t>::max();

/// Tells future uses by the number of the kernel that makes them. The uses of a kernel that has begun are past.
class TIER_EXPORT FutureUses {
 public:
  virtual ~FutureUses() = default;
  /// \return  the number of the kernel that uses the block next; `never_used` if there is none
  [[nodiscard]] virtual std::uint64_t next_use(BlockId block) const noexcept = 0;
};

}  // namespace tier
