// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A tier of the machine's memory.
#include <tier/memory/page_kind.hpp>
#include <tier/memory/tier.hpp>
#include <tier/memory/tier_spec.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "memory/io/extent_map.hpp"
#include "memory/system/growing_memory.hpp"
#include "memory/system/mapping.hpp"
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
  static constexpr std::size_t page_alignment = 4096;  // of devices that the CPU cannot address

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

}  // namespace tier
