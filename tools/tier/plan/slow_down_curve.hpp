// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The slow-down of a program as a function of fast memory.
#include <tier/core/bytes.hpp>
#include <tier/replay/replay.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tier::tool {

/// One amount of fast memory and its slow-down.
struct CurvePoint {
  Bytes fast;
  /// Time relative to that with all in fast memory; if that takes none, the time in seconds.
  double slow_down = 0;
};

/// Returns the slow-down with this much fast memory; none if a kernel's operands do not fit.
using SlowDownOf = std::function<std::optional<double>(Bytes fast)>;

/// Formats a size with four digits, rounded up, and the unit that makes it shortest: `842.1MB`. `parse_bytes` reads it back
/// as `round_to_shown` of the size, so asking for a shown size gives the same result again.
[[nodiscard]] std::string shown_size(Bytes size);
[[nodiscard]] Bytes round_to_shown(Bytes size);

/// Measures the slow-down at several sizes.
/// \param peak   live bytes: with this much, and what alignment adds, all is fast
/// \param count  of points, from the peak down in equal ratios to a 64th of it; sizes that do not fit are left out
/// \return       the most memory first
[[nodiscard]] std::vector<CurvePoint> slow_down_curve(Bytes peak, unsigned count,
                                                      const SlowDownOf& slow_down);

/// Measures the slow-down at these sizes, in order; sizes that do not fit are left out.
[[nodiscard]] std::vector<CurvePoint> slow_down_at(const std::vector<Bytes>& sizes,
                                                   const SlowDownOf& slow_down);

/// Finds the least fast memory, to within a 200th of the peak, whose slow-down is at most `limit`. It lies between the last
/// point of the curve within the limit, counted from the peak, and the next one.
/// \return  none if the first point already exceeds the limit
[[nodiscard]] std::optional<CurvePoint> least_memory(const std::vector<CurvePoint>& curve, double limit,
                                                     const SlowDownOf& slow_down);

}  // namespace tier::tool
