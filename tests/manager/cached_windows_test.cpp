// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Windows of freed objects are reused for objects of the same size; their room is free for other requests. The
///        contents of a new object show whose pages it got: fresh ones hold zeros, reused ones the old values.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "manager/rig.hpp"
#include "support/windows.hpp"

namespace tier::cached_windows_test {

using namespace tier::literals;
using namespace tier::test;

namespace {

Rig caching(WindowMode mode, Bytes cached, Bytes fast = 16_MiB) {
  return Rig{{.tiers = {fast_tier(fast), slow_tier(32_MiB, true)},
              .manager = {.threads = 1,
                          .movers = 1,
                          .yields = false,
                          .windows = mode,
                          .window_blocks = 1_MiB,
                          .cached_windows = cached}}};
}

std::span<std::byte> bytes_of(const ObjectHandle& object) {
  return {object.ref().object->window, object.ref().object->size};
}

ObjectHandle made(Rig& rig, Bytes size, char value, std::string_view name = "windowed") {
  auto object = rig.manager->create_window(size, 64, name);
  std::memset(bytes_of(object).data(), value, size.count);
  return object;
}

bool all_are(const ObjectHandle& object, char value) {
  return std::ranges::all_of(bytes_of(object), [&](std::byte b) { return b == std::byte(value); });
}

}  // namespace

TEST_CASE("an object gets the place and the pages of one of its size that was freed") {
  for (const auto mode : window_modes()) {
    CAPTURE(to_string(mode));
    for (const Bytes size : {Bytes{1}, 33_KiB, 64_KiB, 1_MiB, 2_MiB - 5_KiB, 3_MiB + 1_B}) {
      CAPTURE(size.count);
      Rig rig = caching(mode, 8_MiB);
      auto object = made(rig, size, 7);
      const auto before = rig.manager->statistics();
      auto* const address = bytes_of(object).data();
      const auto id = object.ref().object->id;
      object.reset();
      CHECK(rig.used(0) == 0_B);
      CHECK(rig.manager->statistics().tiers[0].regions == 0);
      CHECK(rig.manager->statistics().blocks == 0);
      CHECK(object_of(address).object == nullptr);
      rig.settle();

      object = rig.manager->create_window(size, 64, "another");
      CHECK(bytes_of(object).data() == address);
      CHECK(object.ref().object->id != id);
      CHECK(object_of(address).object == object.ref().object);
      CHECK(all_are(object, 7));
      CHECK(rig.used(0) == before.tiers[0].used);
      CHECK(rig.manager->statistics().window_faults == before.window_faults);
      rig.settle();

      for (const TierIndex there : {TierIndex{1}, TierIndex{0}}) {  // the reused window behaves as any other
        std::memset(bytes_of(object).data(), 9 + there, size.count);
        std::vector<BlockId> ids;
        for (const auto* b : object.ref().object->blocks) ids.push_back(b->id);
        rig.manager->migrate(ids, there);
        CHECK(rig.where(object) == there);
        CHECK(all_are(object, static_cast<char>(9 + there)));
      }
      rig.settle();
    }
  }
}

TEST_CASE("what is cached is free for whoever wants it") {
  for (const auto mode : window_modes()) {
    CAPTURE(to_string(mode));
    Rig rig = caching(mode, 8_MiB);
    std::vector<ObjectHandle> windowed;
    for (char i = 0; i < 8; ++i) windowed.push_back(made(rig, 1_MiB, i));
    windowed.clear();
    std::vector<ObjectHandle> others;
    for (char i = 0; i < 4; ++i) others.push_back(rig.make(4_MiB, i));
    CHECK(rig.used(0) == 16_MiB);
    CHECK(rig.manager->statistics().evictions == 0);
    for (char i = 0; i < 4; ++i) CHECK(rig.where(others[std::size_t(i)]) == 0);
    rig.settle();

    // If the tier is full of blocks that may leave, a new window evicts some of them.
    const auto last = made(rig, 1_MiB, 1);
    CHECK(rig.manager->statistics().evictions > 0);
    CHECK(all_are(last, 1));
    for (char i = 0; i < 4; ++i) CHECK(rig.holds(others[std::size_t(i)], i));
    rig.settle();
  }
}

TEST_CASE("no more is cached than may be, the last ones first") {
  for (const auto mode : window_modes()) {
    CAPTURE(to_string(mode));
    Rig rig = caching(mode, 4_MiB);
    constexpr std::array sizes{1_MiB, 2_MiB, 3_MiB, 5_MiB};
    std::vector<ObjectHandle> objects;
    for (const auto size : sizes) objects.push_back(made(rig, size, 7));
    for (auto& object : objects) object.reset();
    for (const auto size : sizes) objects.push_back(rig.manager->create_window(size, 64, "another"));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      CAPTURE(i);
      CHECK(all_are(objects[sizes.size() + i], i == 2 ? 7 : 0));
    }
    rig.settle();
  }
}

TEST_CASE("many small windows are cached, but not so many that to look among them takes long") {
  for (const auto mode : window_modes()) {
    CAPTURE(to_string(mode));
    Rig rig = caching(mode, 16_MiB);
    std::vector<ObjectHandle> objects;
    for (int i = 0; i < 100; ++i) objects.push_back(made(rig, 64_KiB, 7));
    objects.clear();
    for (int i = 0; i < 100; ++i) objects.push_back(rig.manager->create_window(64_KiB, 64, "another"));
    CHECK(std::ranges::count_if(objects, [](const auto& o) { return all_are(o, 7); }) == 64);
    rig.settle();
  }
}

TEST_CASE("what is not all in the fastest tier is not cached") {
  for (const auto mode : window_modes()) {
    CAPTURE(to_string(mode));
    Rig rig = caching(mode, 8_MiB);
    auto object = made(rig, 3_MiB, 7);
    rig.manager->migrate(std::array{object.ref().object->blocks[1]->id}, 1);
    object.reset();
    CHECK(rig.used(0) + rig.used(1) == 0_B);
    object = rig.manager->create_window(3_MiB, 64, "another");
    CHECK(all_are(object, 0));
    rig.settle();
  }
}

TEST_CASE("an object that is freed while a scope is open keeps its place until that ends") {
  for (const auto mode : window_modes()) {
    CAPTURE(to_string(mode));
    Rig rig = caching(mode, 8_MiB);
    auto object = made(rig, 2_MiB, 7);
    auto* const address = bytes_of(object).data();
    Operand op = Operand::advice_at(address, Use::Read);
    rig.manager->enter({&op, 1}, {1, true, {}});
    REQUIRE(op.entered);
    object.reset();
    {
      const auto another = made(rig, 2_MiB, 8);
      CHECK(bytes_of(another).data() != address);
      CHECK(std::all_of(address, address + op.size, [](std::byte b) { return b == std::byte{7}; }));
    }
    rig.settle();
    Manager::leave({&op, 1});
    CHECK(rig.used(0) == 0_B);
    const auto one = rig.manager->create_window(2_MiB, 64, "one"), other = made(rig, 2_MiB, 9);
    CHECK(bytes_of(one).data() == address);
    CHECK(bytes_of(other).data() != address);
    rig.settle();
  }
}

TEST_CASE("what is held for a scope has no bytes once it is freed, and migrates nowhere") {
  for (const auto mode : window_modes()) {
    CAPTURE(to_string(mode));
    Rig rig = caching(mode, 8_MiB);
    auto object = made(rig, 2_MiB, 7);
    Operand op{.block = object.ref().object->blocks[0]};
    const auto id = op.block->id;
    rig.manager->hold(op);
    object.reset();
    CHECK(rig.used(0) == 0_B);
    rig.manager->migrate(std::array{id}, 1);
    rig.manager->migrate(std::array{id}, 0);
    rig.settle();
    CHECK(rig.used(0) + rig.used(1) == 0_B);
    rig.manager->let_go(op);
    rig.settle();
  }
}

TEST_CASE("where a block of a freed object is held, or used still, the others' pages are kept for nobody") {
  for (const auto mode : window_modes()) {
    for (const bool used : {false, true}) {
      CAPTURE(to_string(mode));
      CAPTURE(used);
      Rig rig = caching(mode, 1_MiB);
      auto object = made(rig, 3_MiB, 7);
      Operand op{.block = object.ref().object->blocks[1], .size = (1_MiB).count, .advice = true};
      rig.manager->hold(op);
      if (used) rig.manager->enter({&op, 1}, {1, true, {}});
      CHECK(op.entered == used);
      object.reset();
      made(rig, 1_MiB, 8).reset();  // fills the cache
      rig.settle();
      const auto rest = rig.make(used ? 14_MiB : 16_MiB, 'r');
      CHECK(rig.where(rest) == 0);
      CHECK(rig.used(1) == 0_B);
      if (used)
        Manager::leave({&op, 1});
      else
        rig.manager->let_go(op);
      rig.settle();
    }
  }
}

TEST_CASE("an object that the policy wants in another tier gets a place there") {
  for (const auto mode : window_modes()) {
    CAPTURE(to_string(mode));
    Rig rig = caching(mode, 8_MiB);
    auto object = made(rig, 3_MiB, 7);
    object.reset();
    rig.policy->placement = {1, true};
    object = rig.manager->create_window(3_MiB, 64, "another");
    CHECK(rig.used(0) == 0_B);
    CHECK(rig.used(1) == 3_MiB);
    std::memset(bytes_of(object).data(), 8, 3 << 20);
    CHECK(all_are(object, 8));
    rig.settle();
  }
}

TEST_CASE("an object that has grown in its window serves one that is made as large") {
  for (const auto mode : window_modes()) {
    CAPTURE(to_string(mode));
    Rig rig = caching(mode, 8_MiB);
    auto object = rig.manager->reserve_window(3_MiB, 64, "grows");
    rig.manager->grow(object.ref(), 3_MiB);
    std::memset(bytes_of(object).data(), 7, 3 << 20);
    object.reset();
    object = made(rig, 3_MiB, 8);  // cut into other blocks
    CHECK(all_are(object, 8));
    CHECK(rig.used(0) == 3_MiB);
    rig.settle();
    object.reset();
    CHECK(rig.used(0) == 0_B);
    rig.settle();
  }
}

TEST_CASE("garbage is cached when its time has come, and nothing once the manager is closed") {
  for (const auto mode : window_modes()) {
    CAPTURE(to_string(mode));
    Rig rig = caching(mode, 8_MiB);
    rig.policy->early = false;
    auto object = made(rig, 1_MiB, 7), other = made(rig, 1_MiB, 8);
    object.reset();
    CHECK(rig.used(0) == 2_MiB);
    rig.manager->end_of_step();
    CHECK(rig.used(0) == 1_MiB);
    object = rig.manager->create_window(1_MiB, 64, "another");
    CHECK(all_are(object, 7));
    object.reset();
    rig.manager->end_of_step();
    CHECK(rig.manager->close().size() == 1);
    CHECK(rig.used(0) == 1_MiB);
    other.reset();
    CHECK(rig.used(0) == 0_B);
    rig.settle();
  }
}

}  // namespace tier::cached_windows_test
