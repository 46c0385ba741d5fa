// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Compares where the runtime says that objects are with what the kernel says. Each tier is on one NUMA node.
#include <doctest/doctest.h>
#include <tier/runtime/runtime.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "support/placement.hpp"

namespace tier::test {

/// Returns the node of a tier, from its name such as `numa:2`.
inline unsigned node_of(const Runtime& runtime, TierIndex tier) {
  const auto name = runtime.statistics().tiers.at(tier).name;
  REQUIRE(name.starts_with("numa:"));
  return static_cast<unsigned>(std::stoul(name.substr(std::string{"numa:"}.size())));
}

/// Returns the tier of an object, as the runtime reports it.
inline TierIndex home_of(const Runtime& runtime, ObjectId id) {
  const auto objects = runtime.object_statistics();
  const auto found = std::ranges::find(objects, id, &ObjectStatistics::id);
  REQUIRE(found != objects.end());
  return found->tier;
}

/// Returns how many pages the kernel reports on another node than this one.
inline std::size_t pages_astray(std::span<const std::byte> bytes, unsigned node) {
  std::size_t astray = 0;
  for (const auto& [where, count] : placement_of(bytes).pages)
    astray += where == static_cast<int>(node) ? 0 : count;
  return astray;
}

}  // namespace tier::test
