// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A tier that is as slow as another device.
#include <chrono>
#include <string>

#include "memory/tiers/dram_tier.hpp"
#include "memory/tiers/emulated_link.hpp"

namespace tier {

/// Emulates a device with anonymous memory that takes the device's time.
class EmulatedTier final : public DramTier {
 public:
  EmulatedTier(const TierSpec& spec, std::string name, const TierModel& model);

  std::string description() const override;
  void transfer(Direction direction, std::span<IoRequest> requests) noexcept override;
  void charge(Direction direction, std::uint64_t bytes, unsigned requests,
              std::chrono::steady_clock::time_point since) noexcept override;

 private:
  EmulatedLink& link(Direction direction) noexcept { return direction == Direction::Read ? read_ : write_; }

  std::chrono::nanoseconds blur_;
  EmulatedLink read_, write_;
};

}  // namespace tier
