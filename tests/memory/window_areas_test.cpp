// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The address space of windows, and windows that the system pages.
#include "memory/windows/window_areas.hpp"

#include <doctest/doctest.h>
#include <tier/core/config.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/windows/paged_windows.hpp"
#include "support/temporary_directory.hpp"

namespace tier::window_areas_test {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Takes a window as a space does: from an area that is there, else from a new one.
AddressWindow take(WindowAreas& areas, std::size_t size, std::size_t alignment = window_unit) {
  const auto window = areas.take(size, alignment);
  return window ? *window : areas.take_from_new_area(size, alignment);
}

bool is_all(const std::byte* begin, std::size_t size, std::byte value) {
  return std::all_of(begin, begin + size, [&](std::byte b) { return b == value; });
}

}  // namespace

TEST_CASE("windows are apart, as aligned as they were asked for, and can be used once they are open") {
  WindowAreas areas{{}, {}, nullptr};
  CHECK(!areas.take(window_unit, window_unit));  // no area yet
  std::vector<AddressWindow> windows;
  for (const auto alignment : {window_unit, huge_page, window_unit, huge_page})
    windows.push_back(take(areas, 3 * window_unit, alignment));
  CHECK(reinterpret_cast<std::uintptr_t>(windows[1].address) % huge_page == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(windows[3].address) % huge_page == 0);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    areas.open(windows[i].address, windows[i].size);
    std::fill_n(windows[i].address, windows[i].size, static_cast<std::byte>(i + 1));
  }
  for (std::size_t i = 0; i < windows.size(); ++i) {
    CHECK(is_all(windows[i].address, windows[i].size, static_cast<std::byte>(i + 1)));
    CHECK(&areas.at(windows[i].address) == &areas.at(windows[0].address));
    CHECK(areas.at(windows[i].address).file() == nullptr);
  }
}

TEST_CASE("addresses of a window serve another one when it is released, in checked builds later") {
  WindowAreas areas{{}, {}, nullptr};
  const auto first = take(areas, window_unit);
  areas.release(first);
  const auto second = take(areas, window_unit);
  CHECK((second.address == first.address) == !detail::checked);
}

TEST_CASE("all areas together say what they take") {
  WindowAreas areas{{}, {}, nullptr};
  CHECK(areas.metadata() == 0_B);
  const auto window = take(areas, huge_page);
  const auto before = areas.metadata();
  CHECK(before > 0_B);
  areas.open(window.address, window.size);
  CHECK(areas.metadata() > before);
}

TEST_CASE("paged windows in memory need no space, and lose their contents when it goes back") {
  WindowAreas areas{{}, {}, nullptr};
  PagedWindows paged{areas};
  const auto window = take(areas, window_unit);
  areas.open(window.address, window.size);
  CHECK(!paged.take_space(window.address, window.size));
  std::fill_n(window.address, window.size, std::byte{7});
  paged.want(window.address, window.size, false);  // nobody to be told
  CHECK(is_all(window.address, window.size, std::byte{7}));
  paged.give_space_back(window.address, window.size);
  CHECK(is_all(window.address, window.size, std::byte{0}));
  CHECK(!paged.settle());
  paged.release(window);
}

TEST_CASE("paged windows in a file keep their contents until they are released") {
  const test::TemporaryDirectory directory;
  WindowAreas areas{directory.path(), 8_MiB, nullptr};
  PagedWindows paged{areas};
  const auto window = take(areas, huge_page);
  areas.open(window.address, window.size);
  REQUIRE(areas.at(window.address).file() != nullptr);
  CHECK(!paged.take_space(window.address, window.size));
  std::fill_n(window.address, window.size, std::byte{7});
  paged.want(window.address, window.size, false);
  paged.want(window.address, window.size, true);
  CHECK(is_all(window.address, window.size, std::byte{7}));
  paged.give_space_back(window.address, window_unit);
  CHECK(is_all(window.address, window_unit, std::byte{0}));
  CHECK(is_all(window.address + window_unit, window.size - window_unit, std::byte{7}));
  paged.release(window);
  std::ignore = paged.settle();
  CHECK(!paged.settle());
}

}  // namespace tier::window_areas_test
