// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where the runtime says that objects are, compared with what the kernel says. Tiers are of one NUMA node each.
#include <doctest/doctest.h>
#include <tier/runtime/runtime.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "support/placement.hpp"

namespace tier::test {

/// Of a tier with the name `numa:2`.
inline unsigned node_of(const Runtime& runtime, TierIndex tier) {
  const auto name = runtime.statistics().tiers.at(tier).name;
  REQUIRE(name.starts_with("numa:"));
  return static_cast<unsigned>(std::stoul(name.substr(std::string{"numa:"}.size())));
}

/// The tier that the runtime names.
inline TierIndex home_of(const Runtime& runtime, ObjectId id) {
  const auto objects = runtime.object_statistics();
  const auto found = std::ranges::find(objects, id, &ObjectStatistics::id);
  REQUIRE(found != objects.end());
  return found->tier;
}

/// Of pages, those that the kernel has on another node than this one.
inline std::size_t pages_astray(std::span<const std::byte> bytes, unsigned node) {
  std::size_t astray = 0;
  for (const auto& [where, count] : placement_of(bytes).pages)
    astray += where == static_cast<int>(node) ? 0 : count;
  return astray;
}

}  // namespace tier::test
