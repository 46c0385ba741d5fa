// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Measures what table rows cost beyond copying their bytes, by gathering and updating some.
#include <tier/manager/manager.hpp>
#include <tier/replay/machine.hpp>

#include <memory>

#include "computation.hpp"

namespace tier::tool {

/// Sets the machine's `row_lookup`, `row_update` and `row_announce`, and each device's `row_read` and `row_write`.
/// The devices are the manager's tiers in order; all else about them has been measured.
/// \param kernels  computes while rows move in the background
/// \throws  `TierError`; `OutOfTierMemory` if a tier is smaller than 16 MiB
void measure_rows(const std::shared_ptr<Manager>& manager, Computation& kernels, replay::Machine& machine);

}  // namespace tier::tool
