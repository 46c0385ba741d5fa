// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/cache/slot_table.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <set>
#include <vector>

#include "table/cache/dirty_bits.hpp"

namespace tier::slot_table_test {

using namespace tier::detail;

namespace {

struct Slots {
  [[nodiscard]] unsigned pins_of(SlotId slot) const { return states[slot].pins; }

  std::array<SlotState, 42> states{};
  std::array<std::atomic<std::uint32_t>, 2> bits{};
  DirtyBits dirty{bits.data(), 42};
  SlotTable table{CacheShape{.slots = 40, .staging = 2}, states.data(), dirty};
};

}  // namespace

TEST_CASE("each slot is free once, and staging is apart") {
  Slots s;
  CHECK(s.table.count_free() == 42);
  std::set<SlotId> taken;
  while (s.table.has_free()) {
    const auto slot = s.table.take_free();
    CHECK(!s.table.is_staging(slot));
    CHECK(s.table[slot].row == no_row);
    taken.insert(slot);
  }
  CHECK(taken.size() == 40);
  CHECK(s.table.take_free() == no_slot);
  CHECK(s.table.is_staging(s.table.take_free_staging()));
  CHECK(s.table.is_staging(s.table.take_free_staging()));
  CHECK(s.table.take_free_staging() == no_slot);
}

TEST_CASE("a slot that is put back is clean, without a past, and the next one to be taken") {
  Slots s;
  const auto slot = s.table.take_free();
  s.table[slot] = {.row = 7, .hold = 3, .session = 0, .pins = 0, .stuck = 1, .writing = 0, .prefetched = 1};
  s.dirty.set(slot, true);
  CHECK(s.table.count_stuck() == 1);
  s.table.put_free(slot);
  CHECK(!s.dirty.is_dirty(slot));
  CHECK(s.table.take_free() == slot);
  CHECK(s.table[slot].hold == 0);
  CHECK(s.table.count_stuck() == 0);
}

TEST_CASE("pins are counted by slot and in all, and a slot knows the last session that has it pinned") {
  Slots s;
  s.table.pin(5, 11);
  s.table.pin(5, 12);
  s.table.pin(6, 11);
  CHECK(s.table.pins() == 3);
  CHECK(s.pins_of(5) == 2);
  CHECK(s.table[5].session == 12);
  s.table.unpin(5, 11);
  CHECK(s.table[5].session == 12);
  s.table.unpin(5, 12);
  CHECK(s.table[5].session == 0);
  CHECK(s.pins_of(5) == 0);
  CHECK(s.table.pins() == 1);
}

}  // namespace tier::slot_table_test
