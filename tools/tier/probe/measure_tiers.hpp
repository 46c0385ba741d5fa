// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Measures the rates of tiers by doing what programs and managers do with them.
#include <tier/memory/tier.hpp>
#include <tier/replay/machine.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tier::tool {

/// Measures every tier, then the cores, then what table rows cost; each is the best of several runs. For a tier: loads and
/// stores of all cores, copies to and from the fastest tier by all cores and by one mover, and latency. For the cores:
/// operations per second, and what a mover takes from them.
///
/// A file tier behind the page cache gets the rates of its disk, measured by direct I/O in the same folder, if these are
/// lower: the cache is faster only as long as the data fits it.
/// \param tiers    not in use elsewhere; the devices take their names
/// \param told     called before each measurement with its name and the share of all that is done
/// \param expected called once with the estimated seconds for all, after a first pass
/// \throws         `TierError` naming a tier that cannot be read or written; `ConfigError` for one that is too small
[[nodiscard]] replay::Machine measure(std::vector<std::unique_ptr<Tier>> tiers, const std::string& name,
                                      const std::function<void(const std::string& what, double share)>& told,
                                      const std::function<void(double seconds)>& expected);

}  // namespace tier::tool
