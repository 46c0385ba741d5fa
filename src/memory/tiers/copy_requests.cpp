// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/tiers/copy_requests.hpp"

#include <cstring>

namespace tier {

void copy_requests(Direction direction, std::byte* tier, std::span<IoRequest> requests) noexcept {
  for (auto& request : requests) {
    request.error = {};
    if (request.size == 0) continue;  // its memory may be null
    auto* const there = tier + request.offset;
    if (direction == Direction::Read)
      std::memcpy(request.memory, there, request.size);
    else
      std::memcpy(there, request.memory, request.size);
  }
}

}  // namespace tier
