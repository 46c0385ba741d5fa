// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/windows/window_tags.hpp"

#include <doctest/doctest.h>
#include <tier/core/error.hpp>

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "memory/windows/address_window.hpp"

namespace tier::window_tags_test {

namespace {

/// Returns addresses far from any memory; tags need none.
std::byte* range(std::size_t number) {
  return reinterpret_cast<std::byte*>((std::uintptr_t{1} << 50) + (std::uintptr_t{number} << 40));
}

}  // namespace

TEST_CASE("an address has the tag that was set for it, and for the rest of its unit") {
  int one = 0, other = 0;
  auto* const begin = range(0);
  {
    const WindowTags tags{begin, 8 * window_unit};
    CHECK(WindowTags::find(begin) == nullptr);
    WindowTags::set(begin, window_unit + 1, &one);
    WindowTags::set(begin + 2 * window_unit, window_unit, &other);
    CHECK(WindowTags::find(begin) == &one);
    CHECK(WindowTags::find(begin + 2 * window_unit - 1) == &one);
    CHECK(WindowTags::find(begin + 2 * window_unit) == &other);
    CHECK(WindowTags::find(begin + 3 * window_unit) == nullptr);
    CHECK(WindowTags::find(begin - 1) == nullptr);
    CHECK(WindowTags::find(begin + 8 * window_unit) == nullptr);
    WindowTags::set(begin, 2 * window_unit, nullptr);
    CHECK(WindowTags::find(begin) == nullptr);
  }
  CHECK(WindowTags::find(begin + 2 * window_unit) == nullptr);
}

TEST_CASE("a process has tags for 64 ranges, and for as many again when these are gone") {
  for (int round = 0; round < 2; ++round) {
    std::vector<std::unique_ptr<WindowTags>> all;
    while (all.size() < 64) all.push_back(std::make_unique<WindowTags>(range(all.size()), window_unit));
    CHECK_THROWS_AS(std::ignore = WindowTags(range(64), window_unit), OutOfTierMemory);
    int tag = 0;
    WindowTags::set(range(63), window_unit, &tag);
    CHECK(WindowTags::find(range(63)) == &tag);
    CHECK(WindowTags::find(range(62)) == nullptr);
  }
}

}  // namespace tier::window_tags_test
