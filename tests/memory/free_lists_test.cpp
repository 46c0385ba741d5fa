// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/heap/free_lists.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>

namespace tier::free_lists_test {

namespace {

bool comes_before(SizeClass a, SizeClass b) {
  return a.level < b.level || (a.level == b.level && a.index < b.index);
}

}  // namespace

TEST_CASE("a size class holds sizes that follow each other, and larger sizes are in later classes") {
  auto last = SizeClass::of(0);
  for (std::uint64_t units = 1; units < 10'000; ++units) {
    const auto here = SizeClass::of(units);
    REQUIRE((here == last || here == last.following()));
    last = here;
  }
}

TEST_CASE("each slot of a class that is found for a size is at least as large") {
  for (std::uint64_t units = 1; units < 10'000; ++units) {
    const auto sure = SizeClass::of_at_least(units);
    REQUIRE(!comes_before(sure, SizeClass::of(units)));
    REQUIRE((units == 1 || comes_before(SizeClass::of(units - 1), sure)));
  }
}

TEST_CASE("the first class with free slots from a size on is found, and the highest of all") {
  FreeLists lists;
  auto c = SizeClass::of(1);
  CHECK(!lists.seek(c));
  CHECK(!lists.seek_highest(c));
  const auto small = SizeClass::of(40), large = SizeClass::of(std::uint64_t{1} << 40);
  lists.set_head(small, 3);
  lists.set_head(large, 4);
  for (const std::uint64_t units : {1, 39, 40}) {
    c = SizeClass::of(units);
    CHECK(lists.seek(c));
    CHECK(c == small);
  }
  c = small.following();
  CHECK(lists.seek(c));
  CHECK(c == large);
  CHECK(lists.head(c) == 4);
  CHECK(lists.seek_highest(c));
  CHECK(c == large);
  lists.set_head(large, FreeLists::none);
  CHECK(lists.says_empty(large));
  CHECK(lists.seek_highest(c));
  CHECK(c == small);
  c = large;
  CHECK(!lists.seek(c));
}

}  // namespace tier::free_lists_test
