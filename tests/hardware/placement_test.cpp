// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/memory/discovery.hpp>

#include <algorithm>
#include <cstdint>
#include <span>

#include "hardware/machine.hpp"
#include "support/placement.hpp"

namespace tier::placement_test {
namespace {

using test::all_on;
using test::lacks;
using test::Pages;
using test::placement_of;

constexpr Bytes size = 4_MiB;

std::span<std::uint64_t> words(std::span<std::byte> bytes) {
  return {reinterpret_cast<std::uint64_t*>(bytes.data()), bytes.size() / sizeof(std::uint64_t)};
}
void fill(std::span<std::byte> bytes) {
  std::uint64_t value = 1;
  for (auto& word : words(bytes)) word = value *= 0x9e3779b97f4a7c15;
}
bool is_filled(std::span<std::byte> bytes) {
  std::uint64_t value = 1;
  return std::ranges::all_of(words(bytes), [&](auto word) { return word == (value *= 0x9e3779b97f4a7c15); });
}

}  // namespace

TEST_CASE("memory bound to a node is there, as the kernel says page by page") {
  const auto machine = discover();
  if (machine.nodes.size() < 2) return lacks("second NUMA node");
  for (const auto& node : machine.nodes) {
    CAPTURE(node.id);
    for (const int advice : {MADV_NOHUGEPAGE, MADV_HUGEPAGE}) {
      const Pages pages{size};
      REQUIRE(::madvise(pages.bytes().data(), size.count, advice) == 0);
      test::bind(pages.bytes(), node.id);
      fill(pages.bytes());
      CHECK(placement_of(pages.bytes()) == all_on(node.id, pages.bytes()));
      CHECK(test::node_at(&pages.bytes().back()) == static_cast<int>(node.id));
    }
  }
}

TEST_CASE("memory moves from each node to each, and keeps its bytes") {
  const auto machine = discover();
  if (machine.nodes.size() < 2) return lacks("second NUMA node");
  for (const int advice : {MADV_NOHUGEPAGE, MADV_HUGEPAGE}) {
    const Pages pages{size};
    REQUIRE(::madvise(pages.bytes().data(), size.count, advice) == 0);
    fill(pages.bytes());
    for (const auto& from : machine.nodes)
      for (const auto& to : machine.nodes) {
        CAPTURE(from.id);
        CAPTURE(to.id);
        CHECK(test::move_to(pages.bytes(), from.id) == test::PagePlacement{});
        CHECK(test::move_to(pages.bytes(), to.id) == test::PagePlacement{});
        CHECK(placement_of(pages.bytes()) == all_on(to.id, pages.bytes()));
      }
    CHECK(is_filled(pages.bytes()));
  }
}

TEST_CASE("reserved huge pages are on each node that had memory from the start") {
  if (!test::given()) return test::lacks_description();
  for (const auto& node : test::given()->nodes) {
    if (!node.at_boot) continue;
    CAPTURE(node.id);
    const Pages pages{4_MiB, MAP_HUGETLB};
    test::bind(pages.bytes(), node.id);
    fill(pages.bytes());
    CHECK(placement_of(pages.bytes()) == all_on(node.id, pages.bytes()));
  }
}

}  // namespace tier::placement_test
