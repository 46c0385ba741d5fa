// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/manager/demotion.hpp>

#include <algorithm>
#include <array>

namespace tier {

TierOrder demotion_order(std::span<const TierModel> models, TierIndex from, Bytes size,
                         std::uint32_t current) noexcept {
  std::array<double, max_tiers> cost{};
  TierOrder order;
  for (auto to = static_cast<TierIndex>(models.size() - 1); to > from; --to) {
    cost[to] = seconds_to_copy(models[to], models[0], size);
    if ((current >> to & 1) == 0) cost[to] += seconds_to_copy(models[from], models[to], size);
    const auto dearer = [&](TierIndex t) { return cost[t] > cost[to]; };
    order.insert(std::ranges::find_if(order, dearer), to);
  }
  return order;
}

}  // namespace tier
