// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tiers of memory: real, emulating a device, or only simulated.
#include <tier/memory/tiers.hpp>

#include <optional>

#include "memory/io/extent_map.hpp"
#include "memory/system/mapping.hpp"
#include "memory/system/memory_need.hpp"
#include "memory/tiers/emulated_link.hpp"
#include "memory/tiers/numa_nodes.hpp"

namespace tier {

/// Keeps bytes in anonymous memory, perhaps on certain nodes.
class DramTier : public Tier {
 public:
  /// \param nodes  null if any node will do
  DramTier(const TierSpec& spec, std::string name, const TierModel& model,
           std::unique_ptr<NumaNodes> nodes = nullptr);

  std::string description() const override;
  void claim(std::uint64_t offset, std::uint64_t size) noexcept override;
  std::error_code reserve(std::uint64_t offset, std::uint64_t size) noexcept override;
  bool has_space(std::uint64_t offset, std::uint64_t size) const noexcept override;
  void transfer(Direction direction, std::span<IoRequest> requests) noexcept override;

 private:
  void fault_in();
  void check_places() const;
  std::string page_description() const;
  std::string place_description() const;
  int populate(std::uint64_t offset, std::size_t size) noexcept;

  PageKind pages_;
  std::unique_ptr<NumaNodes> nodes_;
  Mapping memory_;
  std::optional<ExtentMap> extents_;  // if memory is not faulted in at once
  GrowingMemory growing_;
};

/// Makes a tier on NUMA nodes.   \param system  tests pass their own   \throws  as `make_tier`
/// \pre     the library was built with libnuma
[[nodiscard]] std::unique_ptr<Tier> make_numa_tier(const TierSpec& spec,
                                                   std::shared_ptr<const NumaSystem> system);

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

/// Has a capacity and a model, but no memory.
class SimulatedTier final : public Tier {
 public:
  SimulatedTier(std::string name, const TierModel& model, Bytes size);

  std::string description() const override { return "addresses without memory"; }
  void transfer(Direction direction, std::span<IoRequest> requests) noexcept override;
};

}  // namespace tier
