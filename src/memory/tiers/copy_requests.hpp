// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Transfers of tiers that the CPU can address.
#include <tier/memory/io_request.hpp>

#include <cstddef>
#include <span>

namespace tier {

/// Copies the bytes of requests to or from a tier whose memory begins at `tier`.
void copy_requests(Direction direction, std::byte* tier, std::span<IoRequest> requests) noexcept;

}  // namespace tier
