// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tells the policy and observers which tiers are nearly full.
#include "manager/state/state.hpp"
#include "manager/store/store.hpp"

namespace tier {

/// Reports each tier that has come below the policy's watermark since it was last above.
void check_watermarks(State& state, Store& store) noexcept;

}  // namespace tier
