// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "watermarks.hpp"

#include <utility>

namespace tier {

void check_watermarks(State& state, Store& store) noexcept {
  const double share = state.announcer.policy().watermark();
  if (share <= 0) return;
  for (TierIndex t = 0; t < store.tiers.count(); ++t) {
    auto& tier = store.tiers[t];
    const auto capacity = tier.heap.capacity();
    const auto free = capacity - tier.used();
    const bool below = static_cast<double>(free.count) < share * static_cast<double>(capacity.count);
    if (below == std::exchange(tier.below_watermark, below) || !below) continue;
    WatermarkEvent event{{}, t, free};
    state.announcer.tell(event, &Observer::on_watermark);
    state.announcer.ask([&](Policy& p, PolicyContext& context) { p.on_watermark(event, context); });
  }
}

}  // namespace tier
