// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/node_pages.hpp"

#include <doctest/doctest.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <string>
#include <system_error>

using namespace tier;

TEST_CASE("pages move between the nodes that have memory") {
  const auto nodes = bench::memory_nodes();
  if (nodes.empty()) {
    MESSAGE("SKIPPED: the system names no nodes of memory");
    return;
  }
  CHECK(std::ranges::is_sorted(nodes));
  bench::NodePages pages{Bytes{(1 << 20) + 5}};
  try {
    for (const int node : nodes) pages.move_to(node);
  } catch (const TierError& error) {
    if (error.code() != std::errc::operation_not_permitted &&
        error.code() != std::errc::function_not_supported)
      throw;
    MESSAGE("SKIPPED: ", error.what());
    return;
  }
  const auto missing = nodes.back() + 1;
  try {
    pages.move_to(missing);
    FAIL("there is a node " << missing);
  } catch (const TierError& error) {
    CHECK(std::string{error.what()}.find("move_pages(2)") != std::string::npos);
    CHECK(std::string{error.what()}.find("node " + std::to_string(missing)) != std::string::npos);
  }
}
