// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/heap/region_slots.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

namespace tier::region_slots_test {

TEST_CASE("slots have numbers of their own, and records that never move") {
  RegionSlots slots;
  std::vector<RegionHeap::Slot> taken;
  std::vector<const RegionRecord*> records;
  constexpr std::size_t count = 5000;  // of several chunks
  for (std::size_t i = 0; i < count; ++i) {
    REQUIRE(slots.ensure(1));
    taken.push_back(slots.take());
    slots[taken.back()].offset = i;
    records.push_back(&slots[taken.back()]);
  }
  CHECK(std::set<RegionHeap::Slot>(taken.begin(), taken.end()).size() == count);
  CHECK(slots.in_use() == count);
  for (std::size_t i = 0; i < count; ++i) {
    REQUIRE(&slots[taken[i]] == records[i]);
    REQUIRE(slots[taken[i]].offset == i);
  }
}

TEST_CASE("numbers given back serve the next slots, so that no more memory is touched") {
  RegionSlots slots;
  REQUIRE(slots.ensure(3));
  const auto first = slots.take(), second = slots.take(), third = slots.take();
  const auto bytes = slots.size_bytes();
  slots.give(second);
  slots.give(first);
  CHECK(slots.in_use() == 1);
  CHECK(slots.take() == first);
  CHECK(slots.take() == second);
  CHECK(slots.size_bytes() == bytes);
  CHECK(third != first);
}

}  // namespace tier::region_slots_test
