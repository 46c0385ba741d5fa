// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/extent_map.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

using namespace tier;

namespace {

/// Extents of 2 MiB over 21 MiB, of which 8 may lie idle; counts what is taken.
class Extents {
 public:
  std::error_code reserve(Bytes offset, Bytes size) {
    return map.reserve(offset.count, size.count, [this](ExtentMap::Run run) { return take(run); });
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
  CHECK(!extents.map.begin_return());  // it is wanted still
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
  CHECK(!extents.release(2_MiB, 8_MiB));  // 8 MiB are idle: they may
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
  REQUIRE(!map.reserve((48_MiB).count, (16_MiB).count, take));  // once he waits
  map.end_return(*run);
  waiter.join();
  CHECK(takes == 3);
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
