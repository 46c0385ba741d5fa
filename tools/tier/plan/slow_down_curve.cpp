// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "slow_down_curve.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string_view>

namespace tier::tool {
namespace {

/// A size as shown.
struct Shown {
  std::uint64_t digits = 0;  // below 10000
  std::uint64_t step = 1;    // bytes per unit of the last digit
};

Shown shown(Bytes size) {
  constexpr std::uint64_t most = 9999;
  Shown shown;
  while (size.count / shown.step > most || (size.count / shown.step == most && size.count % shown.step != 0))
    shown.step *= 10;
  shown.digits = size.count / shown.step + (size.count % shown.step != 0 ? 1 : 0);
  return shown;
}

}  // namespace

std::string shown_size(Bytes size) {
  const auto [digits, step] = shown(size);
  std::uint64_t unit = 1'000'000'000'000;
  std::string_view name = "TB";
  for (const auto next : {"GB", "MB", "kB", "B"}) {
    if (digits * step >= unit) break;
    unit /= 1000;
    name = next;
  }
  auto text = fmt::format("{}", digits * step / unit);
  auto rest = digits * step % unit;
  for (auto place = unit; rest != 0; rest %= place) {
    text += place == unit ? "." : "";
    place /= 10;
    text += fmt::format("{}", rest / place);
  }
  return text.append(name);
}

Bytes round_to_shown(Bytes size) {
  const auto [digits, step] = shown(size);
  return {digits * step};
}

std::vector<CurvePoint> slow_down_curve(Bytes peak, unsigned count, const SlowDownOf& slow_down) {
  constexpr double smallest = 1.0 / 64;
  std::vector<CurvePoint> curve;
  for (unsigned i = 0; i < count; ++i) {
    const double share = count > 1 ? std::pow(smallest, static_cast<double>(i) / (count - 1)) : 1;
    const auto fast = round_to_shown({static_cast<std::uint64_t>(share * static_cast<double>(peak.count))});
    if (!curve.empty() && curve.back().fast == fast) continue;
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

std::optional<CurvePoint> least_memory(const std::vector<CurvePoint>& curve, double limit,
                                       const SlowDownOf& slow_down) {
  if (curve.empty() || curve.front().slow_down > limit) return std::nullopt;
  std::size_t last = 0;
  while (last + 1 < curve.size() && curve[last + 1].slow_down <= limit) ++last;
  CurvePoint enough = curve[last];
  std::uint64_t too_little = last + 1 < curve.size() ? curve[last + 1].fast.count : 0;
  const auto near = curve.front().fast.count / 400 + 1;  // the curve begins at twice the peak
  while (enough.fast.count - too_little > near) {
    const auto middle = round_to_shown({too_little + (enough.fast.count - too_little) / 2});
    if (middle >= enough.fast || middle.count <= too_little) break;  // no size that is shown lies between
    const auto ratio = slow_down(middle);
    if (ratio && *ratio <= limit)
      enough = {middle, *ratio};
    else
      too_little = middle.count;
  }
  return enough;
}

}  // namespace tier::tool
