// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A tier of each kind that an emulated machine has memory or disks for.
#include <tier/memory/tiers.hpp>

#include <utility>
#include <vector>

#include "hardware/machine.hpp"

namespace tier::test {

/// On the disk and on persistent memory, all slower than DRAM.
inline std::vector<TierSpec> slower_tiers(Bytes size) {
  const auto& machine = *given();
  return {tiers::file(machine.disk, size),    tiers::file(machine.fsdax, size),
          tiers::mapped(machine.fsdax, size), tiers::pmem(machine.fsdax, size),
          tiers::pmem(machine.devdax, size),  tiers::memkind(machine.fsdax, size),
          tiers::memkind("DAX_KMEM", size)};
}

/// Each of them below DRAM, and DRAM below HBM: [(fast, slow)].
inline std::vector<std::pair<TierSpec, TierSpec>> pairs_of_tiers(Bytes fast, Bytes slow) {
  std::vector<std::pair<TierSpec, TierSpec>> pairs{{tiers::memkind("HBW", fast), tiers::dram(slow)}};
  for (const auto& tier : slower_tiers(slow)) pairs.emplace_back(tiers::dram(fast), tier);
  return pairs;
}

/// Ends the test case where the machine has not all that these need.
inline bool has_disks() {
  if (given() && !given()->disk.empty() && !given()->fsdax.empty()) return true;
  not_given("disk of its own, or no persistent memory");
  return false;
}

}  // namespace tier::test
