// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/tiers/file_tier.hpp"

#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>

#include <cstdint>
#include <utility>

#include "memory/io/thread_backend.hpp"
#include "memory/io/uring_backend.hpp"

namespace tier {

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
        "offset, size and memory of a request to a file tier must be aligned");
  backend_->run(direction, requests);
}

}  // namespace tier
