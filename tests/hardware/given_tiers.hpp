// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A tier of each kind for which an emulated machine has memory or disks.
#include <tier/memory/tiers.hpp>

#include <vector>

#include "hardware/machine.hpp"

namespace tier::test {

/// Returns tiers on the disk and on persistent memory, all slower than DRAM.
inline std::vector<TierSpec> slower_tiers(Bytes size) {
  const auto& machine = *given();
  return {tiers::file(machine.disk, size),    tiers::file(machine.fsdax, size),
          tiers::mapped(machine.fsdax, size), tiers::pmem(machine.fsdax, size),
          tiers::pmem(machine.devdax, size),  tiers::memkind(machine.fsdax, size),
          tiers::memkind("DAX_KMEM", size)};
}

/// Ends the test case if the machine lacks some of what these need.
inline bool has_disks() {
  if (given() && !given()->disk.empty() && !given()->fsdax.empty()) return true;
  not_given("disk of its own, or no persistent memory");
  return false;
}

}  // namespace tier::test
