// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Kinds of slow tiers under windows.
#include <tier/memory/tiers.hpp>

#include <functional>
#include <string>
#include <vector>

#include "support/windows.hpp"

namespace tier::test {

struct SlowTier {
  const char* name;
  std::function<TierSpec(const std::string& directory, Bytes size)> spec;
};
inline const std::vector<SlowTier>& slow_tiers() {
  static const std::vector<SlowTier> all{
      {"emulated:cxl", [](const std::string&, Bytes size) { return tiers::emulated("cxl", size); }},
      {"mapped", [](const std::string& directory, Bytes size) { return tiers::mapped(directory, size); }},
      {"file", [](const std::string& directory, Bytes size) { return tiers::file(directory, size); }},
      {"dram", [](const std::string&, Bytes size) { return tiers::dram(size); }}};
  return all;
}

struct SlowTierAndMode {
  SlowTier slow;
  WindowMode mode;
};
inline std::vector<SlowTierAndMode> slow_tiers_and_modes() {
  std::vector<SlowTierAndMode> all;
  for (const auto mode : window_modes())
    for (const auto& slow : slow_tiers()) all.push_back({slow, mode});
  return all;
}

}  // namespace tier::test
