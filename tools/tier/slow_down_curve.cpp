// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "slow_down_curve.hpp"

#include <cmath>

namespace tier::tool {

std::vector<CurvePoint> slow_down_curve(Bytes peak, unsigned count, const SlowDownOf& slow_down) {
  constexpr double smallest = 1.0 / 64;
  std::vector<CurvePoint> curve;
  for (unsigned i = 0; i < count; ++i) {
    const double share = count > 1 ? std::pow(smallest, static_cast<double>(i) / (count - 1)) : 1;
    const Bytes fast{static_cast<std::uint64_t>(share * static_cast<double>(peak.count))};
    if (const auto ratio = slow_down(fast)) curve.push_back({fast, *ratio});
  }
  return curve;
}

std::vector<CurvePoint> slow_down_at(const std::vector<Bytes>& sizes, const SlowDownOf& slow_down) {
  std::vector<CurvePoint> points;
  for (const auto fast : sizes)
    if (const auto ratio = slow_down(fast)) points.push_back({fast, *ratio});
  return points;
}

std::optional<CurvePoint> least_memory(const std::vector<CurvePoint>& curve, double budget,
                                       const SlowDownOf& slow_down) {
  if (curve.empty() || curve.front().slow_down > 1 + budget) return std::nullopt;
  std::size_t last = 0;
  while (last + 1 < curve.size() && curve[last + 1].slow_down <= 1 + budget) ++last;
  CurvePoint enough = curve[last];
  std::uint64_t too_little = last + 1 < curve.size() ? curve[last + 1].fast.count : 0;
  const auto near = curve.front().fast.count / 400 + 1;  // the curve begins at twice the peak
  while (enough.fast.count - too_little > near) {
    const Bytes middle{too_little + (enough.fast.count - too_little) / 2};
    const auto ratio = slow_down(middle);
    if (ratio && *ratio <= 1 + budget)
      enough = {middle, *ratio};
    else
      too_little = middle.count;
  }
  return enough;
}

}  // namespace tier::tool
