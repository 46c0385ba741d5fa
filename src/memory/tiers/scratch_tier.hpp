// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What tiers on a scratch file have in common.
#include <tier/memory/tier.hpp>
#include <tier/memory/tier_spec.hpp>

#include <cstddef>
#include <string>

#include "memory/io/extent_map.hpp"
#include "memory/io/scratch_file.hpp"
#include "memory/io/space_returner.hpp"

namespace tier {

/// Has the scratch file of a tier, and takes its disk space as regions need it.
class ScratchTier : public Tier {
 public:
  std::string_view directory() const noexcept final { return path_; }
  void claim(std::uint64_t offset, std::uint64_t size) noexcept override;
  std::error_code reserve(std::uint64_t offset, std::uint64_t size) noexcept override;
  bool has_space(std::uint64_t offset, std::uint64_t size) const noexcept override;
  void release(std::uint64_t offset, std::uint64_t size) noexcept override;
  Bytes back(Bytes total, std::error_code& cause) noexcept override;
  Bytes keep(Bytes total) noexcept override;
  [[nodiscard]] Bytes metadata() const noexcept override { return extents_.metadata(); }

 protected:
  /// Rounds the size of a file up to whole pages.
  static Bytes whole_pages(Bytes size) noexcept { return {round_up(size.count, std::size_t{4096})}; }

  ScratchTier(const TierSpec& spec, std::string name, const TierModel& model, ScratchFile::Mode mode);

  std::string path_;
  ScratchFile file_;

 private:
  ExtentMap extents_;
  SpaceReturner returner_;  // last: its thread uses the members above
};

}  // namespace tier
