// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Measures how fast the copy engine copies between two tiers.
#include <tier/memory/tier.hpp>

#include <cstdint>
#include <functional>

namespace tier::tool {

enum class By { Waiter, Mover };

/// A copy from the start of one tier to a place in another or in the same tier.
struct Way {
  Tier* from = nullptr;
  Tier* to = nullptr;
  std::uint64_t place = 0;
  std::uint64_t bytes = 0;  ///< a multiple of `piece`
  std::uint64_t piece = 0;  ///< of one copy
};

/// Returns bytes per second, the best of several runs.
/// \throws       `TierError` naming the tiers
[[nodiscard]] double copy_rate(const Way& way, By by);

/// Measures single copies by a thread that computes in between, while the other threads sleep.
/// \return  seconds for one piece, the median of all   \throws  as above
[[nodiscard]] double seconds_of_one(const Way& way);

/// Runs `work` while a mover copies without a pause.   \return  the result of `work`
[[nodiscard]] double while_copying(const Way& way, const std::function<double()>& work);

}  // namespace tier::tool
