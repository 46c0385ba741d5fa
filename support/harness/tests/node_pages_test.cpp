// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/node_pages.hpp"

#include <doctest/doctest.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <string>
#include <system_error>
#include <tuple>

#include "support/message_of.hpp"

using namespace tier;

namespace {

/// Reports a skip if the system lacks the call or denies it.
bool is_denied(const TierError& error) {
  if (error.code() != std::errc::operation_not_permitted && error.code() != std::errc::function_not_supported)
    return false;
  MESSAGE("SKIPPED: ", error.what());
  return true;
}

void move_about(PageKind kind) {
  const auto nodes = bench::memory_nodes();
  bench::NodePages pages{4_MiB, kind, nodes.front()};
  const auto bytes = pages.bytes();
  REQUIRE(bytes.size() == (4_MiB).count);
  std::ranges::fill(bytes, std::byte{7});
  const auto check_on = [&](unsigned node) {
    CHECK(bench::pages_elsewhere(bytes, node) == 0);
    CHECK(std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{7}; }));
  };
  check_on(nodes.front());
  for (const auto node : nodes) {
    pages.move_pages(node);
    check_on(node);
  }
  pages.name_small_pages();
  for (const auto node : nodes) {
    pages.mbind(node);
    check_on(node);
    pages.move_pages(nodes.front());
    check_on(nodes.front());
  }
  for (const auto node : nodes) {
    bench::migrate_pages(nodes.front(), node);
    check_on(node);
    bench::migrate_pages(node, nodes.front());
  }
}

}  // namespace

TEST_CASE("pages move between the nodes that have memory, in each of the kernel's ways") {
  const auto nodes = bench::memory_nodes();
  REQUIRE(!nodes.empty());
  CHECK(std::ranges::is_sorted(nodes));
  for (const auto kind : {PageKind::Small, PageKind::Huge}) try {
      move_about(kind);
    } catch (const TierError& error) {
      if (!is_denied(error)) throw;
      return;
    }
}

TEST_CASE("pages that are not in memory are nowhere, and a node that is not there is refused by each call") {
  using test::message_of;
  const auto node = bench::memory_nodes().front();
  const auto missing = bench::memory_nodes().back() + 1;
  const auto to = " to node " + std::to_string(missing) + ": ";
  try {
    bench::NodePages pages{1_MiB, PageKind::Small, node};
    CHECK(bench::pages_elsewhere(pages.bytes(), missing) == (1_MiB).count / 4096);
    CHECK(message_of<TierError>([&] { pages.move_pages(missing); }).starts_with("move_pages(2)" + to));
    CHECK(message_of<TierError>([&] { pages.mbind(missing); }).starts_with("mbind(2)" + to));
    CHECK(message_of<TierError>([&] {
            bench::migrate_pages(node, missing);
          }).starts_with("migrate_pages(2)" + to));
    CHECK(message_of<TierError>([&] {
            std::ignore = bench::NodePages{1_MiB, PageKind::Small, missing};
          }).starts_with("mbind(2)" + to));
  } catch (const TierError& error) {
    if (!is_denied(error)) throw;
  }
}
