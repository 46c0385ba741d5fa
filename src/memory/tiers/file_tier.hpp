// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A tier on a scratch file by direct I/O.
#include <memory>
#include <string>

#include "memory/io/io_backend.hpp"
#include "memory/tiers/scratch_tier.hpp"

namespace tier {

/// Reads and writes a file past the page cache.
class FileTier final : public ScratchTier {
 public:
  FileTier(const TierSpec& spec, std::string name, const TierModel& model);

  std::string description() const override;
  bool direct_io() const noexcept override { return file_.direct(); }
  void transfer(Direction direction, std::span<IoRequest> requests) noexcept override;

 private:
  std::unique_ptr<IoBackend> backend_;
  std::string engine_;  // for people
};

}  // namespace tier
