// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A tier of addresses alone.
#include <tier/memory/tier.hpp>

#include <cstddef>
#include <string>

namespace tier {

/// Has a capacity and a model, but no memory.
class SimulatedTier final : public Tier {
 public:
  SimulatedTier(std::string name, const TierModel& model, Bytes size);

  std::string description() const override { return "addresses without memory"; }
  void transfer(Direction direction, std::span<IoRequest> requests) noexcept override;

 private:
  static constexpr std::size_t page_alignment = 4096;  // of devices that the CPU cannot address
};

}  // namespace tier
