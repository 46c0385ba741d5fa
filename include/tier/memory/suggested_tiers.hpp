// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tiers that suit a machine.
#include <tier/core/export.hpp>
#include <tier/memory/tier_spec.hpp>

#include <vector>

namespace tier {

struct Machine;

/// Suggests tiers for a runtime on this machine: each kind of memory that the process may use, less a share for the system
/// and other programs, within what its control groups have left of their limits; and half of the free space on the disk of
/// `/var/tmp`, if it is on a disk. Sizes are multiples of 1 MiB.
/// \code{.cpp}
/// #include <tier/memory/discovery.hpp>
/// #include <tier/memory/tier_text.hpp>
/// const auto specs = tier::suggest_tiers(tier::discover());
/// std::printf("TIER_TIERS='%s'\n", tier::to_string(specs).c_str());
/// \endcode
[[nodiscard]] TIER_EXPORT std::vector<TierSpec> suggest_tiers(const Machine& machine);

}  // namespace tier
