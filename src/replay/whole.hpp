// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Computed times and bytes as whole numbers.
#include <tier/copy/virtual_clock.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tier::replay {

/// Rounds a number. A machine's rates, and numbers computed from them, may be anything: one that is beyond
/// `VirtualClock::latest`, infinite or not a number becomes `VirtualClock::latest`, and a negative one 0.
[[nodiscard]] inline std::uint64_t whole(double number) noexcept {
  constexpr auto most = static_cast<double>(VirtualClock::latest);
  if (!(number < most)) return VirtualClock::latest;
  return static_cast<std::uint64_t>(std::llround(std::max(number, 0.0)));
}

}  // namespace tier::replay
