// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What rows of tables cost beside their bytes, by gathering and updating some.
#include <tier/manager/manager.hpp>
#include <tier/replay/machine.hpp>

#include <memory>

#include "computation.hpp"

namespace tier::tool {

/// Sets `row_lookup`, `row_update` and `row_announce` of the machine, and `row_read` and `row_write` of each device, which are
/// those of the manager's tiers in order and have been measured else.
/// \param kernels  what computes while rows move in the background
/// \throws  `TierError`, `OutOfTierMemory` where a tier is below 16 MiB
void measure_rows(const std::shared_ptr<Manager>& manager, Computation& kernels, replay::Machine& machine);

}  // namespace tier::tool
