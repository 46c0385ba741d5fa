// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What only a replay knows: when each block will be used next.
#include <tier/core/export.hpp>
#include <tier/policy/policy.hpp>

#include <cstdint>
#include <limits>

namespace tier {

inline constexpr std::uint64_t never_used = std::numeric_limits<std::uint64_t>::max();

/// Uses to come, in order of the kernels that bring them. One that has begun is past.
class TIER_EXPORT FutureUses {
 public:
  virtual ~FutureUses() = default;
  /// \return  the number of the kernel; `never_used` if there is none
  [[nodiscard]] virtual std::uint64_t next_use(BlockId block) const noexcept = 0;
};

}  // namespace tier
