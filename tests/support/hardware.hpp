// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tests of real memory skip aloud where the machine lacks it, and fail there if `TIER_REQUIRE_HARDWARE` is set. Where
///        pages are the kernel is asked, by the plain system call.
#include "memory/numa_system.hpp"

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tier::test {

/// Says that the machine has no such thing.
inline void lacking(const std::string& what) {
  if (std::getenv("TIER_REQUIRE_HARDWARE") != nullptr) FAIL("this machine lacks " << what);
  MESSAGE("SKIPPED: this machine lacks " << what);
}

/// How many pages of a range are on each node; under a negative error those that are on none.
[[nodiscard]] inline std::map<int, std::size_t> pages_by_node(const std::byte* begin, std::size_t size) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<const void*> pages;
  for (std::size_t at = 0; at < size; at += page) pages.push_back(begin + at);
  std::vector<int> nodes(pages.size());
  REQUIRE(::syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, nodes.data(), 0) == 0);
  std::map<int, std::size_t> counts;
  for (const int node : nodes) ++counts[node];
  return counts;
}

[[nodiscard]] inline bool are_all_on(const std::byte* begin, std::size_t size, unsigned node) {
  const auto counts = pages_by_node(begin, size);
  return counts.size() == 1 && std::cmp_equal(counts.begin()->first, node);
}

/// Nodes that this process may have memory of; none without NUMA, or if the library was built without.
[[nodiscard]] inline std::vector<unsigned> usable_nodes() {
  const NumaSystem system;
  std::vector<unsigned> nodes;
  if (system.supported()) return nodes;
  for (unsigned node = 0; node < max_nodes; ++node)
    if (std::filesystem::exists(system.node_path(node)) && system.allows(node)) nodes.push_back(node);
  return nodes;
}

/// \return  none where the machine has fewer than `least`, which is said
[[nodiscard]] inline std::vector<unsigned> nodes_of_machine(std::size_t least) {
  auto nodes = usable_nodes();
  if (nodes.size() >= least) return nodes;
  lacking(std::to_string(least) + " NUMA nodes with memory that this program may have");
  return {};
}

}  // namespace tier::test
