// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Skips tests of real memory with a message if the machine lacks it; fails them if `TIER_REQUIRE_HARDWARE` is set.
#include <doctest/doctest.h>
#include <tier/memory/discovery.hpp>

#include <cstdlib>
#include <string>
#include <vector>

#include "memory/system/numa_system.hpp"
#include "support/placement.hpp"

namespace tier::test {

/// Ends the test case with a message. Use as `if (!has_it) return lacks("it");`
inline void lacks(const std::string& what) {
  if (std::getenv("TIER_REQUIRE_HARDWARE") != nullptr) FAIL("this machine has no " << what);
  MESSAGE("SKIPPED: this machine has no " << what);
}

[[nodiscard]] inline bool are_all_on(const std::byte* begin, std::size_t size, unsigned node) {
  return placement_of({begin, size}) == all_on(node, {begin, size});
}

/// Returns the nodes that this process may allocate on; none without NUMA, or if the library was built without it.
[[nodiscard]] inline std::vector<unsigned> usable_nodes() {
  std::vector<unsigned> nodes;
  if (NumaSystem{}.supported()) return nodes;
  for (const auto& node : discover().nodes)
    if (node.allowed) nodes.push_back(node.id);
  return nodes;
}

/// \return  none if the machine has fewer than `least`, which a message says
[[nodiscard]] inline std::vector<unsigned> nodes_of_machine(std::size_t least) {
  auto nodes = usable_nodes();
  if (nodes.size() >= least) return nodes;
  lacks(std::to_string(least) + " NUMA nodes with memory that this program may have");
  return {};
}

}  // namespace tier::test
