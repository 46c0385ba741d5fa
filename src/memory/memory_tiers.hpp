// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tiers of memory: real, emulating a device, or only simulated.
#include <tier/memory/tiers.hpp>

#include <optional>

#include "memory/emulated_link.hpp"
#include "memory/extent_map.hpp"
#include "memory/mapping.hpp"

namespace tier {

/// Anonymous memory.
class DramTier : public Tier {
 public:
  DramTier(const TierSpec& spec, std::string name, const TierModel& model);

  std::string description() const override;
  std::error_code reserve(std::uint64_t offset, std::uint64_t size) noexcept override;
  void transfer(Direction direction, std::span<IoRequest> requests) noexcept override;

 private:
  void fault_in();

  Mapping memory_;
  std::optional<ExtentMap> extents_;  // where memory is not faulted in at once
};

/// Anonymous memory that takes its time.
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

/// Nothing but a capacity and a model.
class SimulatedTier final : public Tier {
 public:
  SimulatedTier(std::string name, const TierModel& model, Bytes size);

  std::string description() const override { return "addresses without memory"; }
  void transfer(Direction direction, std::span<IoRequest> requests) noexcept override;
};

}  // namespace tier
