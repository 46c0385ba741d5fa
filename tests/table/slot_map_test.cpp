// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/cache/slot_map.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "table/cache/direct_writer.hpp"
#include "table/cache/dirty_bits.hpp"
#include "table/cache/slot_view.hpp"

namespace tier::slot_map_test {

using namespace tier::detail;

namespace {

constexpr std::size_t row_bytes = 8, home_bytes = 12;

struct Mapped {
  std::array<std::atomic<std::uint32_t>, 5> memory{};
  std::array<std::byte, 4 * row_bytes> slots{};
  alignas(float) std::array<std::byte, 5 * home_bytes> home{};
  std::array<float, 4> slot_states{};
  SlotMap map{memory.data(), 5};

  [[nodiscard]] RowArray in_slots() {
    return {slots.data(), reinterpret_cast<std::byte*>(slot_states.data()), row_bytes, sizeof(float)};
  }
  /// States lie behind the values.
  [[nodiscard]] RowArray at_home() { return {home.data(), home.data() + row_bytes, home_bytes, home_bytes}; }
};

}  // namespace

TEST_CASE("a view finds a row in its slot once it is readable, and no sooner") {
  Mapped m;
  const auto view = m.map.view(m.in_slots());
  CHECK(view.find(3) == nullptr);
  m.map.set(3, MapEntry::on_its_way(2));
  CHECK(view.find(3) == nullptr);
  CHECK(m.map[3].slot() == 2);
  CHECK(!m.map[3].is_readable());
  m.map.set(3, MapEntry::readable(2));
  CHECK(view.find(3) == &m.slots[2 * row_bytes]);
  m.map.set(3, MapEntry::nowhere());
  CHECK(view.find(3) == nullptr);
  CHECK(m.map[3].is_nowhere());
  CHECK(m.map[4].is_nowhere());
}

TEST_CASE("the version of a map is even, and another one after each change") {
  Mapped m;
  const auto before = m.map.version();
  CHECK(before % 2 == 0);
  m.map.set(0, MapEntry::readable(1));
  CHECK(m.map.version() == before + 2);
}

TEST_CASE("a direct view finds a row that is in no slot, or on its way to one, at home") {
  Mapped m;
  const DirectView view{m.map.view(m.in_slots()), m.at_home()};
  const auto where = [&](RowId row) { return view.at(view.entry(row), row); };
  CHECK(where(4) == &m.home[4 * home_bytes]);
  CHECK(view.is_at_home(where(4), m.home.size()));
  m.map.set(4, MapEntry::on_its_way(1));
  CHECK(where(4) == &m.home[4 * home_bytes]);
  m.map.set(4, MapEntry::readable(1));
  CHECK(where(4) == &m.slots[1 * row_bytes]);
  CHECK(!view.is_at_home(where(4), m.home.size()));
}

TEST_CASE("writing directly makes a slot dirty, and no other one") {
  Mapped m;
  std::array<std::atomic<std::uint32_t>, 1> bits{};
  DirtyBits dirty{bits.data(), 4};
  m.map.set(0, MapEntry::readable(3));
  const DirectWriter writer{DirectView{m.map.view(m.in_slots()), m.at_home()}, m.in_slots(), m.at_home(),
                            dirty};
  const auto at = [&](RowId row) { return writer.at(writer.view().entry(row), row); };
  CHECK(at(1) == RowAddress{&m.home[home_bytes], reinterpret_cast<float*>(&m.home[home_bytes + row_bytes])});
  CHECK(!dirty.is_dirty(0));
  CHECK(at(0) == RowAddress{&m.slots[3 * row_bytes], &m.slot_states[3]});
  CHECK(dirty.is_dirty(3));
  CHECK(!dirty.is_dirty(2));
}

}  // namespace tier::slot_map_test
