// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/tiers/mapped_tier.hpp"

#include <utility>

#include "memory/tiers/copy_requests.hpp"

namespace tier {

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
