// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How fast the copy engine is between two tiers.
#include <tier/memory/tier.hpp>

#include <cstdint>
#include <functional>

namespace tier::tool {

enum class By { Waiter, Mover };

/// From the start of one tier to a place in another, or in the same one.
struct Way {
  Tier* from = nullptr;
  Tier* to = nullptr;
  std::uint64_t place = 0;
  std::uint64_t bytes = 0;  ///< a multiple of `piece`
  std::uint64_t piece = 0;  ///< of one copy
};

/// Bytes a second, the best of some runs.
/// \throws       `TierError` naming the tiers
[[nodiscard]] double copy_rate(const Way& way, By by);

/// Of one piece at a time, for a thread that computes in between, while others sleep.
/// \return  seconds, the median of all pieces   \throws  as above
[[nodiscard]] double seconds_of_one(const Way& way);

/// Runs `work` while a mover copies without a pause.   \return  what `work` returns
[[nodiscard]] double while_copying(const Way& way, const std::function<double()>& work);

}  // namespace tier::tool
