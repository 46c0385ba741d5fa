// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/tiers/scratch_tier.hpp"

#include <algorithm>
#include <utility>

namespace tier {
namespace {

/// Extents are few enough that a pass over them is short, and large enough that taking one is rare.
Bytes extent_size(Bytes capacity) {
  return std::max(2_MiB, Bytes{round_up(capacity.count >> 16, (2_MiB).count)});
}
/// Large enough that a program whose use goes up and down with its steps keeps its space.
Bytes idle_limit(Bytes capacity) { return std::max(64_MiB, capacity / 2); }

}  // namespace

ScratchTier::ScratchTier(const TierSpec& spec, std::string name, const TierModel& model,
                         ScratchFile::Mode mode)
    : Tier{std::move(name), model, spec.size},
      path_{spec.path},
      file_{spec.path, whole_pages(spec.size), mode, name_,
            spec.new_file ? ScratchFile::Place::NewFile : ScratchFile::Place::Folder},
      extents_{whole_pages(spec.size), extent_size(spec.size), idle_limit(spec.size)},
      returner_{extents_, file_} {
  reserves_ = true;
}

void ScratchTier::claim(std::uint64_t offset, std::uint64_t size) noexcept { extents_.claim(offset, size); }

bool ScratchTier::has_space(std::uint64_t offset, std::uint64_t size) const noexcept {
  return extents_.has_space(offset, size);
}

Bytes ScratchTier::keep(Bytes total) noexcept { return extents_.keep(total); }

std::error_code ScratchTier::reserve(std::uint64_t offset, std::uint64_t size) noexcept {
  return extents_.reserve(offset, size,
                          [this](ExtentMap::Run run) { return file_.allocate(run.offset, run.size); });
}

Bytes ScratchTier::back(Bytes total, std::error_code& cause) noexcept {
  return extents_.back(
      total, [this](ExtentMap::Run run) { return file_.allocate(run.offset, run.size); }, cause);
}

void ScratchTier::release(std::uint64_t offset, std::uint64_t size) noexcept {
  if (extents_.release(offset, size)) returner_.wake();
}

}  // namespace tier
