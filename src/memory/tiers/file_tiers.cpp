// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/tiers/file_tiers.hpp"

#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>

#include <algorithm>

namespace tier {
namespace {

constexpr std::size_t page_alignment = 4096;

/// Extents are few enough that a pass over them is short, and large enough that taking one is rare.
Bytes extent_size(Bytes capacity) {
  return std::max(2_MiB, Bytes{round_up(capacity.count >> 16, (2_MiB).count)});
}
/// Large enough that a program whose use goes up and down with its steps keeps its space.
Bytes idle_limit(Bytes capacity) { return std::max(64_MiB, capacity / 2); }
Bytes whole_pages(Bytes size) { return {round_up(size.count, page_alignment)}; }

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

FileTier::FileTier(const TierSpec& spec, std::string name, const TierModel& model)
    : ScratchTier{spec, std::move(name), model, ScratchFile::Mode::Direct}, engine_{"by threads"} {
  io_alignment_ = file_.alignment();
  const auto alignment = file_.direct() ? file_.alignment() : 1;
  std::string reason;
  if (spec.engine != IoEngine::Threads) backend_ = make_uring_backend(file_.descriptor(), alignment, reason);
  if (backend_ != nullptr) {
    engine_ = "by io_uring";
    return;
  }
  if (spec.engine == IoEngine::Uring) throw ConfigError{"tier " + name_ + " cannot use io_uring: " + reason};
  if (!reason.empty()) engine_ += " (no io_uring: " + reason + ")";
  backend_ = make_thread_backend(file_.descriptor(), alignment);
}

std::string FileTier::description() const {
  return (file_.direct() ? "direct I/O " : "buffered I/O, as the file system has no direct I/O, ") + engine_ +
         ", " + file_.description(path_);
}

void FileTier::transfer(Direction direction, std::span<IoRequest> requests) noexcept {
  for ([[maybe_unused]] const auto& request : requests)
    TIER_ASSERT(
        (request.offset | request.size | reinterpret_cast<std::uintptr_t>(request.memory)) % io_alignment_ ==
            0,
        "offset, size and memory of a request to a file tier are aligned");
  backend_->run(direction, requests);
}

MappedTier::MappedTier(const TierSpec& spec, std::string name, const TierModel& model)
    : ScratchTier{spec, std::move(name), model, ScratchFile::Mode::Buffered},
      memory_{whole_pages(spec.size).count, file_.descriptor(), name_} {
  base_ = memory_.data();
  copied_by_fork_ = false;
}

std::string MappedTier::description() const { return "mapped " + file_.description(path_); }

void MappedTier::transfer(Direction direction, std::span<IoRequest> requests) noexcept {
  copy_requests(direction, memory_.data(), requests);
}

}  // namespace tier
