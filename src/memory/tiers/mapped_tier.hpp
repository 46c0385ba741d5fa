// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A tier on a mapped scratch file.
#include <string>

#include "memory/system/mapping.hpp"
#include "memory/tiers/scratch_tier.hpp"

namespace tier {

/// Maps a file: the system's page cache is the memory.
class MappedTier final : public ScratchTier {
 public:
  MappedTier(const TierSpec& spec, std::string name, const TierModel& model);

  std::string description() const override;
  void transfer(Direction direction, std::span<IoRequest> requests) noexcept override;

 private:
  Mapping memory_;
};

}  // namespace tier
