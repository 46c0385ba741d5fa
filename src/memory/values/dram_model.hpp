// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The assumed model of the machine's own memory, used if none is declared or measured.
#include <tier/memory/tier_model.hpp>

namespace tier {

/// ReDL's fast memory, by declaration: faster than every model of `find_model()`, as the order of tiers needs.
constexpr TierModel dram_model{34e9, 34e9, std::chrono::nanoseconds{90}, 32, Bytes{64}, true, false};

}  // namespace tier
