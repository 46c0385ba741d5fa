// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tiers on a scratch file, by direct I/O or mapped.
#include <tier/memory/tiers.hpp>

#include "memory/io/extent_map.hpp"
#include "memory/io/io_engine.hpp"
#include "memory/io/scratch_file.hpp"
#include "memory/io/space_returner.hpp"
#include "memory/system/mapping.hpp"

namespace tier {

/// Takes a tier's disk space as regions need it.
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
  ScratchTier(const TierSpec& spec, std::string name, const TierModel& model, ScratchFile::Mode mode);

  std::string path_;
  ScratchFile file_;

 private:
  ExtentMap extents_;
  SpaceReturner returner_;  // last: its thread uses the members above
};

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
