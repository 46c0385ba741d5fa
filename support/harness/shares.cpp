// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/shares.hpp"

#include <algorithm>

namespace tier::bench {
namespace {

double share_without(std::uint64_t some, std::uint64_t all) noexcept {
  return all == 0 ? 1 : std::max(0.0, 1 - static_cast<double>(some) / static_cast<double>(all));
}

}  // namespace

double fast_share(std::uint64_t fetched, std::uint64_t accessed) noexcept {
  return share_without(fetched, accessed);
}
double on_time_share(std::uint64_t late, std::uint64_t accessed) noexcept {
  return share_without(late, accessed);
}

double stalled_share(double stalled_seconds, std::size_t threads, double wall_seconds) noexcept {
  const double all = static_cast<double>(threads) * wall_seconds;
  return all > 0 ? stalled_seconds / all : 0;
}

double overhead_share(std::uint64_t peak, std::uint64_t doubled, std::uint64_t plain_peak) noexcept {
  return (static_cast<double>(peak) - static_cast<double>(doubled)) / static_cast<double>(plain_peak) - 1;
}

}  // namespace tier::bench
