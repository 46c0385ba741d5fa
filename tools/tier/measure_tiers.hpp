// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Rates of tiers, by doing what programs and managers do with them.
#include <tier/memory/tier.hpp>
#include <tier/replay/machine.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tier::tool {

/// Measures every tier: loads and stores of all cores, copies to and from the fastest by all cores and by one mover, latency;
/// and the cores: operations a second, and what a mover takes from them; each as the best of some runs. Then what rows of
/// tables cost.
///
/// Files that the page cache stands before have the rates of their disk, measured by direct I/O in the same folder, where
/// these are lower: what the cache holds comes faster, until there is more than it holds.
/// \param tiers    that nobody else uses; names of devices are theirs
/// \param told     called before each measurement with what it is of and the share of all that is done
/// \param expected called once with the seconds that all will take, as far as a first pass tells
/// \throws         `TierError` naming a tier that cannot be read or written; `ConfigError` for one that is too small
[[nodiscard]] replay::Machine measure(std::vector<std::unique_ptr<Tier>> tiers, const std::string& name,
                                      const std::function<void(const std::string& what, double share)>& told,
                                      const std::function<void(double seconds)>& expected);

}  // namespace tier::tool
