// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How much slower a program is with less fast memory.
#include <tier/core/bytes.hpp>
#include <tier/replay/replay.hpp>

#include <functional>
#include <optional>
#include <vector>

namespace tier::tool {

/// With so much fast memory.
struct CurvePoint {
  Bytes fast;
  double slow_down = 0;  ///< time, as a ratio to that with all in fast memory; 1 there
};

/// The slow-down with so much fast memory; none where a kernel's operands do not fit.
using SlowDownOf = std::function<std::optional<double>(Bytes fast)>;

/// \param peak   of live bytes: with so much, and what alignment adds, all is fast
/// \param count  of points, from the peak down by equal ratios to a 64th of it; those that do not fit are left out
/// \return       the most memory first
[[nodiscard]] std::vector<CurvePoint> slow_down_curve(Bytes peak, unsigned count,
                                                      const SlowDownOf& slow_down);

/// Of these sizes those that fit, in their order.
[[nodiscard]] std::vector<CurvePoint> slow_down_at(const std::vector<Bytes>& sizes,
                                                   const SlowDownOf& slow_down);

/// The least fast memory, to within a 200th of the peak, with which the slow-down stays within `budget`: between the last point
/// of the curve that does, coming from the peak, and the one after it.
/// \param budget  0.1 for 10 %
/// \return        none if not even the first point does
[[nodiscard]] std::optional<CurvePoint> least_memory(const std::vector<CurvePoint>& curve, double budget,
                                                     const SlowDownOf& slow_down);

}  // namespace tier::tool
