// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Objects whose addresses never change.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "manager/rig.hpp"
#include "manager/window_fire.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "support/windows.hpp"

using namespace tier;
using namespace tier::literals;
using namespace tier::test;

namespace {

/// An object with a window, and its bytes.
struct Windowed {
  Windowed(Rig& rig, Bytes size, std::string_view name = "windowed")
      : handle{rig.manager->create_window(size, 64, name)}, bytes{handle.ref().object->window, size.count} {}
  void fill(char value) const { std::memset(bytes.data(), value, bytes.size()); }
  [[nodiscard]] bool all_are(char value) const {
    return std::ranges::all_of(bytes, [&](std::byte b) { return b == std::byte(value); });
  }

  ObjectHandle handle;
  std::span<std::byte> bytes;
};

}  // namespace

TEST_CASE("what is in a window keeps its address and its bytes, wherever it goes") {
  if (!test::has_windows()) return;
  for (const bool addressable : {true, false}) {
    CAPTURE(addressable);
    for (const Bytes size : {Bytes{1}, 64_KiB, 1_MiB, 2_MiB, 5_MiB}) {
      CAPTURE(size.count);
      Rig rig{16_MiB, 16_MiB, addressable};
      Windowed object{rig, size};
      object.fill(7);
      for (const TierIndex there : {TierIndex{1}, TierIndex{0}, TierIndex{1}}) {
        migrate(rig, object.handle, there);
        CHECK(rig.where(object.handle) == there);
        CHECK(object.all_are(7));
        object.bytes.back() = std::byte{8};
        migrate(rig, object.handle, there == 0 ? TierIndex{1} : TierIndex{0});
        CHECK(object.bytes.back() == std::byte{8});
        object.bytes.back() = std::byte{7};
      }
      rig.settle();
    }
  }
}

TEST_CASE("windows of five times the fast tier hold what was stored last, with no scope") {
  if (!test::has_windows()) return;
  for (const bool addressable : {true, false}) {
    CAPTURE(addressable);
    Rig rig{4_MiB, 64_MiB, addressable};
    std::vector<Windowed> objects;
    for (char i = 0; i < 20; ++i) {
      objects.emplace_back(rig, 1_MiB);
      objects.back().fill(i);
    }
    for (int round = 0; round < 3; ++round)
      for (char i = 0; i < 20; ++i) {
        CHECK(objects[std::size_t(i)].all_are(static_cast<char>(i + round)));
        objects[std::size_t(i)].fill(static_cast<char>(i + round + 1));
      }
    CHECK(rig.used(0) <= 4_MiB);
    rig.settle();
  }
}

TEST_CASE("a block that was only read is given up without being written back") {
  if (!test::has_windows()) return;
  Rig rig{1_MiB, 16_MiB, false};
  Windowed a{rig, 1_MiB}, b{rig, 1_MiB};
  a.fill(1);
  b.fill(2);
  CHECK(a.all_are(1));
  const auto written = rig.slow().transfers.load();
  CHECK(b.all_are(2));
  CHECK(a.all_are(1));
  CHECK(b.all_are(2));
  CHECK(rig.manager->statistics().window_writes_held == 0);
  CHECK(rig.slow().transfers.load() > written);
  a.bytes[5] = std::byte{9};
  CHECK(rig.manager->statistics().window_writes_held <= 1);
  CHECK(b.all_are(2));
  CHECK(a.bytes[5] == std::byte{9});
  CHECK(a.bytes[4] == std::byte{1});
}

TEST_CASE("the object of any address in a window is found") {
  if (!test::has_windows()) return;
  Rig rig{16_MiB, 16_MiB, true};
  Windowed a{rig, 5_MiB}, b{rig, 100_KiB};
  CHECK(object_of(a.bytes.data()) == a.handle.ref());
  CHECK(object_of(&a.bytes.back()) == a.handle.ref());
  CHECK(object_of(&b.bytes[50'000]) == b.handle.ref());
  CHECK(object_of(&rig).object == nullptr);
  const auto* const gone = b.bytes.data();
  b.handle.reset();
  CHECK(object_of(gone).object == nullptr);
}

TEST_CASE("windows under fire: no store is lost, no load sees the past, no system call fails") {
  if (!test::has_windows()) return;
  const auto seed = test::seed();
  CAPTURE(seed);
  const std::array sizes{64_KiB, 64_KiB, 128_KiB, 512_KiB, 1_MiB, 2_MiB, 2_MiB, 4_MiB, 5_MiB};
  const std::array shapes{true, false};
  const auto each = seconds("TIER_FIRE_SECONDS") / static_cast<double>(shapes.size());
  for (const bool addressable : shapes) {
    CAPTURE(addressable);
    Rig rig{8_MiB, 32_MiB, addressable};
    WindowFire fire{rig, sizes, seed};
    CHECK_NOTHROW(fire.run(each));
    rig.settle();
    MESSAGE(fire.stores() << " stores, " << fire.loads() << " loads, " << fire.calls() << " system calls, "
                          << fire.moves() << " moves");
    CHECK(std::min({fire.stores(), fire.loads(), fire.calls(), fire.moves()}) > 0);
  }
}
