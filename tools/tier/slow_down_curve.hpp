// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How much slower a program is with less fast memory.
#include <tier/core/bytes.hpp>
#include <tier/replay/replay.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tier::tool {

/// With so much fast memory.
struct CurvePoint {
  Bytes fast;
  /// Time, as a ratio to that with all in fast memory; where that takes none, the seconds that it takes with so much.
  double slow_down = 0;
};

/// The slow-down with so much fast memory; none where a kernel's operands do not fit.
using SlowDownOf = std::function<std::optional<double>(Bytes fast)>;

/// With four digits, rounded up, and the unit that makes them short: `842.1MB`. What `parse_bytes` reads of it is what
/// `round_to_shown` gives, so that whoever asks for a size that was shown is told the same again.
[[nodiscard]] std::string shown_size(Bytes size);
[[nodiscard]] Bytes round_to_shown(Bytes size);

/// \param peak   of live bytes: with so much, and what alignment adds, all is fast
/// \param count  of points, from the peak down by equal ratios to a 64th of it; those that do not fit are left out
/// \return       the most memory first
[[nodiscard]] std::vector<CurvePoint> slow_down_curve(Bytes peak, unsigned count,
                                                      const SlowDownOf& slow_down);

/// Of these sizes those that fit, in their order.
[[nodiscard]] std::vector<CurvePoint> slow_down_at(const std::vector<Bytes>& sizes,
                                                   const SlowDownOf& slow_down);

/// The least fast memory, to within a 200th of the peak, with which the slow-down is at most `limit`: between the last point
/// of the curve where it is, coming from the peak, and the one after it.
/// \return  none if it is more at the first point already
[[nodiscard]] std::optional<CurvePoint> least_memory(const std::vector<CurvePoint>& curve, double limit,
                                                     const SlowDownOf& slow_down);

}  // namespace tier::tool
