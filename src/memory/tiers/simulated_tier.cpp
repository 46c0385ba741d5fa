// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/tiers/simulated_tier.hpp"

#include <utility>

namespace tier {

SimulatedTier::SimulatedTier(std::string name, const TierModel& model, Bytes size)
    : Tier{std::move(name), model, size} {
  has_bytes_ = false;
  if (!model.addressable) io_alignment_ = page_alignment;
}

void SimulatedTier::transfer(Direction, std::span<IoRequest> requests) noexcept {
  for (auto& request : requests) request.error = {};
}

}  // namespace tier
