// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/io/extent_map.hpp"

#include "copy/fake_tiers.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tier::extent_map_test {

namespace {

/// Extents of 2 MiB over 21 MiB, of which 8 MiB may lie idle; records which are taken.
class Extents {
 public:
  /// Reserves space for an allocated region, and frees the region again if there is no space.
  std::error_code reserve(Bytes offset, Bytes size) {
    map.claim(offset.count, size.count);
    const auto error =
        map.reserve(offset.count, size.count, [this](ExtentMap::Run run) { return take(run); });
    if (error) map.release(offset.count, size.count);
    return error;
  }
  Bytes back(Bytes total, std::error_code& cause) {
    return map.back(
        total, [this](ExtentMap::Run run) { return take(run); }, cause);
  }
  bool release(Bytes offset, Bytes size) { return map.release(offset.count, size.count); }

  ExtentMap map{21_MiB, 2_MiB, 8_MiB};
  bool full = false;
  std::vector<ExtentMap::Run> taken;

 private:
  std::error_code take(ExtentMap::Run run) {
    if (full) return std::make_error_code(std::errc::no_space_on_device);
    taken.push_back(run);
    return {};
  }
};

}  // namespace

TEST_CASE("space is taken in whole extents, in one call for neighbours, and once") {
  Extents extents;
  REQUIRE(!extents.reserve(3_MiB, 2_MiB));
  REQUIRE(extents.taken.size() == 1);
  CHECK(extents.taken[0].offset == (2_MiB).count);
  CHECK(extents.taken[0].size == (4_MiB).count);
  REQUIRE(!extents.reserve(2_MiB, 1_MiB));
  CHECK(extents.taken.size() == 1);
  REQUIRE(!extents.reserve(0_B, 21_MiB));
  REQUIRE(extents.taken.size() == 3);
  CHECK(extents.taken[1].size == (2_MiB).count);
  CHECK(extents.taken[2].offset == (6_MiB).count);
  CHECK(extents.taken[2].size == (15_MiB).count);  // the last extent is a short one
}

TEST_CASE("a reservation that fails counts nothing") {
  Extents extents;
  extents.full = true;
  CHECK(extents.reserve(0_B, 20_MiB) == std::errc::no_space_on_device);
  extents.full = false;
  CHECK(!extents.map.begin_return());
  REQUIRE(!extents.reserve(0_B, 20_MiB));
  CHECK(extents.release(0_B, 20_MiB));
}

TEST_CASE("space taken ahead is counted with what has space, and used by reservations") {
  Extents extents;
  std::error_code cause;
  REQUIRE(!extents.reserve(2_MiB, 3_MiB));
  CHECK(extents.back(4_MiB, cause) == 4_MiB);
  CHECK(extents.taken.size() == 1);
  CHECK(extents.back(7_MiB, cause) == 8_MiB);
  CHECK(!cause);
  const auto taken = extents.taken.size();
  REQUIRE(!extents.reserve(0_B, 2_MiB));
  REQUIRE(!extents.reserve(6_MiB, 2_MiB));
  CHECK(extents.taken.size() == taken);
  extents.full = true;
  CHECK(extents.back(9_MiB, cause) == 8_MiB);
  CHECK(cause == std::errc::no_space_on_device);
  extents.full = false;
  CHECK(extents.back(21_MiB, cause) == 21_MiB);  // the last extent is a short one
  extents.release(0_B, 2_MiB);
  CHECK(!extents.map.begin_return());  // it is still wanted
  CHECK(extents.back(13_MiB, cause) == 21_MiB);
  const auto back = extents.map.begin_return();
  REQUIRE(back);
  CHECK(back->size <= (8_MiB).count);
  CHECK(extents.back(13_MiB, cause) == 21_MiB - Bytes{back->size});
  extents.map.end_return(*back);
  CHECK(extents.back(21_MiB, cause) == 21_MiB);
}

TEST_CASE("an extent is idle when the last of its regions is gone") {
  Extents extents;
  REQUIRE(!extents.reserve(0_B, 10_MiB));
  REQUIRE(!extents.reserve(10_MiB, 64_B));
  CHECK(!extents.release(0_B, 1_MiB));
  CHECK(!extents.release(2_MiB, 8_MiB));  // 8 MiB are idle, as many as may be
  CHECK(!extents.map.begin_return());
  CHECK(extents.release(1_MiB, 1_MiB));
}

TEST_CASE("who waits for space on its way back takes none that others have taken meanwhile") {
  ExtentMap map{64_MiB, 2_MiB, 8_MiB};
  std::size_t takes = 0;
  std::atomic<bool> took{false};
  const auto take = [&](ExtentMap::Run run) {
    ++takes;
    took = run.offset == 0;
    return std::error_code{};
  };
  map.claim((2_MiB).count, (62_MiB).count);
  REQUIRE(!map.reserve((2_MiB).count, (62_MiB).count, take));
  map.release((2_MiB).count, (62_MiB).count);
  const auto last = map.begin_return();
  REQUIRE(last);
  map.end_return(*last);
  const auto run = map.begin_return();
  REQUIRE(run);
  REQUIRE(run->offset == (32_MiB).count);
  std::thread waiter{[&] {
    std::error_code cause;
    CHECK(map.back(34_MiB, take, cause) >= 34_MiB);
  }};
  while (!took) std::this_thread::yield();
  REQUIRE(!map.reserve((48_MiB).count, (16_MiB).count, take));  // once the other thread waits
  map.end_return(*run);
  waiter.join();
  CHECK(takes == 3);
}

TEST_CASE("while the system is asked for space nobody else waits, but those who need that space") {
  ExtentMap map{64_MiB, 2_MiB, 8_MiB};
  test::Gate asked;
  const auto held = [&](ExtentMap::Run) {
    asked.pass();
    return std::error_code{};
  };
  const auto at_once = [](ExtentMap::Run) { return std::error_code{}; };
  map.claim(0, (4_MiB).count);
  auto first = std::async(std::launch::async, [&] { return map.reserve(0, (4_MiB).count, held); });
  asked.wait_for_arrival();
  map.claim((1_MiB).count, (5_MiB).count);
  CHECK(!map.has_space((1_MiB).count, (5_MiB).count));
  CHECK(map.keep(4_MiB) == 0_B);
  CHECK(!map.reserve((4_MiB).count, (2_MiB).count, at_once));
  CHECK(map.has_space((4_MiB).count, (2_MiB).count));
  CHECK(!map.release((4_MiB).count, (2_MiB).count));
  auto second = std::async(std::launch::async, [&] {
    return map.reserve((1_MiB).count, (3_MiB).count, [](ExtentMap::Run) -> std::error_code {
      throw std::logic_error{"space is taken twice"};  // ends the program
    });
  });
  CHECK_FALSE(asked.is_open());
  asked.open();
  CHECK(!first.get());
  CHECK(!second.get());
  CHECK(map.has_space(0, (6_MiB).count));
}

TEST_CASE("space that another has been refused is asked for again by who waited for it") {
  ExtentMap map{64_MiB, 2_MiB, 8_MiB};
  test::Gate asked;
  map.claim(0, (4_MiB).count);
  auto first = std::async(std::launch::async, [&] {
    return map.reserve(0, (4_MiB).count, [&](ExtentMap::Run) {
      asked.pass();
      return std::make_error_code(std::errc::no_space_on_device);
    });
  });
  asked.wait_for_arrival();
  std::atomic<std::uint64_t> taken{0};
  auto second = std::async(std::launch::async, [&] {
    return map.reserve(0, (2_MiB).count, [&](ExtentMap::Run run) {
      taken = run.size;
      return std::error_code{};
    });
  });
  asked.open();
  CHECK(first.get() == std::errc::no_space_on_device);
  CHECK(!second.get());
  CHECK(taken == (2_MiB).count);
  CHECK(map.has_space(0, (2_MiB).count));
  CHECK(!map.has_space((2_MiB).count, (2_MiB).count));
}

TEST_CASE("what is too much idle is returned from the end, and taken again when it is needed") {
  Extents extents;
  REQUIRE(!extents.reserve(0_B, 21_MiB));
  REQUIRE(extents.release(0_B, 21_MiB));
  const auto run = extents.map.begin_return();
  REQUIRE(run);
  CHECK(run->offset == (6_MiB).count);
  CHECK(run->size == (15_MiB).count);
  CHECK(!extents.map.begin_return());
  extents.map.end_return(*run);
  extents.taken.clear();
  REQUIRE(!extents.reserve(0_B, 21_MiB));
  REQUIRE(extents.taken.size() == 1);
  CHECK(extents.taken[0].offset == run->offset);
}

}  // namespace tier::extent_map_test
