// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Objects whose addresses never change.
#include <sys/mman.h>
#include <sys/resource.h>

#include <doctest/doctest.h>
#include <tier/core/config.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "manager/rig.hpp"
#include "manager/window_fire.hpp"
#include "memory/system/pages.hpp"
#include "support/child.hpp"
#include "support/sanitized.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "support/temporary_directory.hpp"
#include "support/test_manager.hpp"
#include "support/windows.hpp"

namespace tier::windows_test {

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

/// A combination of options for windows.
struct Shape {
  WindowMode mode;
  bool addressable;  // of the slow tier
};
std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const auto mode : window_modes())
    for (const bool addressable : {true, false}) all.push_back({mode, addressable});
  return all;
}

}  // namespace

TEST_CASE("what is in a window keeps its address and its bytes, wherever it goes") {
  for (const auto& [mode, addressable] : shapes()) {
    CAPTURE(to_string(mode));
    CAPTURE(addressable);
    for (const Bytes size : {Bytes{1}, 33_KiB, 64_KiB, 1_MiB, 2_MiB - 5_KiB, 5_MiB, 5_MiB + 1_B}) {
      CAPTURE(size.count);
      Rig rig{16_MiB, 16_MiB, addressable, mode};
      Windowed object{rig, size};
      const auto alignment = size >= 2_MiB ? 2_MiB : 64_KiB;
      CHECK(reinterpret_cast<std::uintptr_t>(object.bytes.data()) % alignment.count == 0);
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
  for (const auto& [mode, addressable] : shapes()) {
    CAPTURE(to_string(mode));
    CAPTURE(addressable);
    Rig rig{4_MiB, 64_MiB, addressable, mode};
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

TEST_CASE("a store that brings a block is not reported a second time, and is written back") {
  if (!test::has_windows()) return;
  for (const bool is_memory : {false, true}) {
    CAPTURE(is_memory);
    Rig rig{{.tiers = {fast_tier(64_KiB), slow_tier(1_MiB, is_memory)}}};
    Windowed a{rig, 64_KiB}, b{rig, 64_KiB};
    for (unsigned round = 1; round < 4; ++round) {
      const auto before = rig.manager->statistics();
      a.bytes[1] = std::byte(round);
      b.bytes[1] = std::byte(round + 10);
      const auto after = rig.manager->statistics();
      CHECK(after.window_writes_held == before.window_writes_held);
      CHECK(after.window_faults <= before.window_faults + 2);
      CHECK(a.bytes[1] == std::byte(round));
      CHECK(b.bytes[1] == std::byte(round + 10));
    }
    rig.settle();
  }
}

TEST_CASE("blocks that leave a window unchanged are counted as clean, and no byte of them moves") {
  if (!test::has_windows()) return;
  Rig rig{{.tiers = {fast_tier(64_KiB), slow_tier(1_MiB, false)}}};
  Windowed a{rig, 64_KiB}, b{rig, 64_KiB};
  a.fill(1);
  b.fill(2);
  CHECK(a.all_are(1));
  CHECK(b.all_are(2));
  const auto before = rig.manager->statistics();
  CHECK(a.all_are(1));
  CHECK(b.all_are(2));
  const auto after = rig.manager->statistics();
  CHECK(after.evictions == before.evictions + 2);
  CHECK(after.dropped_clean == before.dropped_clean + 2);
  CHECK(after.bytes_moved(0, 1) == before.bytes_moved(0, 1));
  CHECK(after.bytes_moved(1, 0) == before.bytes_moved(1, 0) + (128_KiB).count);
  rig.settle();
}

TEST_CASE("blocks are so small that several have room in the fastest tier") {
  if (!test::has_windows()) return;
  Rig rig{{.tiers = {fast_tier(2_MiB), slow_tier(64_MiB, true)}}};
  std::vector<Windowed> objects;
  for (char i = 0; i < 8; ++i) {
    objects.emplace_back(rig, 4_MiB);
    objects.back().fill(i);
  }
  CHECK(objects.front().handle.ref().object->blocks.size() == 64);
  const auto use_all = [&] {
    for (auto& object : objects)
      for (const auto place : {0_MiB, 3_MiB})
        std::atomic_ref{reinterpret_cast<char&>(object.bytes[place.count])}.fetch_add(1);
  };
  use_all();
  const auto faults = rig.manager->statistics().window_faults;
  for (int round = 0; round < 100; ++round) use_all();
  CHECK(rig.manager->statistics().window_faults <= faults + 16);  // first stores after loads
  rig.settle();
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

namespace {

/// A slow tier in memory or a real one.
struct FireShape {
  std::string name;
  std::function<std::shared_ptr<Manager>(const std::string& directory)> make;
};
std::vector<FireShape> fire_shapes() {
  std::vector<FireShape> all;
  for (const auto& [mode, addressable] : shapes())
    all.push_back({std::string{to_string(mode)} + (addressable ? ", a memory" : ", a device"),
                   [windows = mode, can_address = addressable](const std::string&) {
                     return Rig{8_MiB, 32_MiB, can_address, windows}.manager;
                   }});
  if (!has_windows()) return all;
  const auto add = [&](const char* name, auto&& slow) {
    all.push_back({name, [slow](const std::string& directory) {
                     return make_manager({tiers::dram(8_MiB), slow(directory)}, WindowMode::Full, 2_MiB);
                   }});
  };
  add("full, a file", [](const std::string& directory) { return tiers::file(directory, 32_MiB); });
  add("full, a mapped file", [](const std::string& directory) { return tiers::mapped(directory, 32_MiB); });
  add("full, emulated", [](const std::string&) { return tiers::emulated("cxl", 32_MiB); });
  return all;
}

}  // namespace

TEST_CASE("windows under fire: no store is lost, no load sees the past, no system call fails") {
  const auto seed = test::seed();
  CAPTURE(seed);
  const std::array sizes{64_KiB, 36_KiB, 100_KiB, 512_KiB, 1_MiB, 2_MiB, 2_MiB, 4_MiB, 5_MiB + 12_KiB};
  const TemporaryDirectory directory;
  const auto shapes = fire_shapes();
  const auto each = seconds("TIER_FIRE_SECONDS") / static_cast<double>(shapes.size());
  for (const auto& shape : shapes) {
    CAPTURE(shape.name);
    const auto manager = shape.make(directory.path());
    WindowFire fire{*manager, sizes, seed};
    CHECK_NOTHROW(fire.run(each));
    manager->quiesce();
    manager->check_invariants();
    MESSAGE(shape.name << ", " << manager->tier(1).description() << ": " << fire.stores() << " stores, "
                       << fire.loads() << " loads, " << fire.calls() << " system calls, " << fire.moves()
                       << " moves, " << fire.woken() << " woken");
    CHECK(std::min({fire.stores(), fire.loads(), fire.calls(), fire.moves(), fire.woken()}) > 0);
  }
}

TEST_CASE("system calls reach into windows without privilege, while what is in them moves") {
  for (const auto mode : window_modes()) {
    CAPTURE(to_string(mode));
    const auto ended = run_in_child("calls " + std::string{to_string(mode)}, [mode] {
      constexpr ::uid_t nobody = 65534;
      const auto drop_privilege = [] {
        if (::geteuid() == 0 && ::setresuid(nobody, nobody, nobody) != 0) std::perror("setresuid");
      };
      if (mode == WindowMode::Restricted) drop_privilege();
      Rig rig{8_MiB, 32_MiB, false, mode};
      WindowFire fire{*rig.manager, std::array{64_KiB, 500_KiB, 2_MiB, 5_MiB}, 1};
      if (mode == WindowMode::Full) drop_privilege();  // keeps permissions already granted
      try {
        fire.run(std::chrono::seconds{1});
      } catch (const std::exception& error) {
        std::fputs(error.what(), stderr);
      }
      std::fputs(fire.calls() > 0 && fire.woken() > 0 && ::geteuid() != 0 ? "done" : "not done", stderr);
    });
    CHECK(ended.errors == "done");
    CHECK(ended.code == 0);
  }
}

TEST_CASE("where the system pages, no access to a window is served, and statistics say so") {
  Rig rig{4_MiB, 64_MiB, false, WindowMode::Restricted};
  CHECK(!rig.manager->statistics().windows);
  Windowed a{rig, 4_MiB}, b{rig, 4_MiB};
  a.fill(1);
  b.fill(2);
  CHECK(rig.where(a.handle) == 1);
  CHECK(a.all_are(1));
  CHECK(rig.where(a.handle) == 1);
  migrate(rig, b.handle, 1);
  migrate(rig, a.handle, 0);
  CHECK(rig.where(a.handle) == 0);
  const auto statistics = rig.manager->statistics();
  CHECK(statistics.windows == WindowMode::Restricted);
  CHECK(statistics.window_faults == 0);
  CHECK(statistics.to_text().find("restricted") != std::string::npos);
  CHECK(statistics.to_json().find("\"windows\": \"restricted\"") != std::string::npos);
  CHECK(statistics.bytes_moved(1, 0) == 0);
}

TEST_CASE("where the system pages, what is compacted in a file stays in its window, and nothing is copied") {
  Rig rig{4_MiB, 16_MiB, false, WindowMode::Restricted};
  std::optional<Windowed> before{std::in_place, rig, 1_MiB};
  const Windowed object{rig, 2_MiB};
  object.fill(5);
  migrate(rig, before->handle, 1);
  migrate(rig, object.handle, 1);
  before.reset();
  rig.settle();
  const auto transfers = rig.slow().transfers.load();
  rig.manager->compact();
  rig.settle();
  CHECK(rig.slow().transfers.load() == transfers);
  CHECK(rig.holds(object.handle, 5));
  migrate(rig, object.handle, 0);
  CHECK(object.all_are(5));
  rig.settle();
}

TEST_CASE("where the system pages, windows lie in files no larger than the process may have") {
  const auto manager =
      make_manager({tiers::dram(64_MiB), tiers::file("/var/tmp", 64_MiB)}, WindowMode::Restricted);
  ::rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const ::rlimit limit{(65_MiB).count, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  ObjectHandle small, large;
  CHECK_NOTHROW(small = manager->create_window(1_MiB, 64, "small"));
  CHECK_THROWS_AS(large = manager->create_window(66_MiB, 64, "large"), TierError);
  ::setrlimit(RLIMIT_FSIZE, &before);
  CHECK_NOTHROW(large = manager->create_window(66_MiB, 64, "large"));
  manager->check_invariants();
}

TEST_CASE("an object grows in its window, block by block, and keeps what it holds") {
  if (!test::has_windows()) return;
  for (const bool addressable : {true, false}) {
    CAPTURE(addressable);
    Rig rig{4_MiB, 64_MiB, addressable};
    {
      const auto handle = rig.manager->reserve_window(10_MiB + 1_B, 64, "growing");
      const auto& object = *handle.ref().object;
      CHECK(object.size == (64_KiB).count);
      CHECK(rig.used(0) == 64_KiB);
      char value = 1;
      for (const Bytes size : {64_KiB, 65_KiB, 1_MiB, 5_MiB, 10_MiB, 10_MiB + 1_B}) {
        const auto before = object.size;
        rig.manager->grow(handle.ref(), size);
        CHECK(object.size >= size.count);
        CHECK(object.size - before <= std::max(before, size.count + (2_MiB).count - before));
        std::memset(object.window + before, value++, object.size - before);
        CHECK(object_of(object.window + object.size - 1) == handle.ref());
      }
      CHECK(object.size == (10_MiB + 64_KiB).count);
      std::size_t at = 0;
      for (const auto* b : object.blocks) {
        CHECK(b->size <= (2_MiB).count);
        CHECK(at % b->size == 0);
        at += b->size;
      }
      CHECK(at == object.size);
      migrate(rig, handle, 1);
      CHECK(rig.used(0) == 0_B);
      CHECK(object.window[0] == std::byte{0});
      CHECK(object.window[(64_KiB).count] == std::byte{2});
      CHECK(object.window[(10_MiB).count - 1] == std::byte{5});
      CHECK(object.window[(10_MiB).count] == std::byte{6});
      rig.settle();
    }
    rig.settle();
    CHECK(rig.used(0) + rig.used(1) == 0_B);
    CHECK(rig.manager->statistics().blocks == 0);
  }
}

TEST_CASE("an object that finds no room to grow is as it was") {
  if (!test::has_windows()) return;
  Rig rig{2_MiB, 4_MiB, true};
  const auto handle = rig.manager->reserve_window(64_MiB, 64, "growing");
  rig.manager->grow(handle.ref(), 1_MiB);
  std::memset(handle.ref().object->window, 7, (1_MiB).count);
  const auto blocks = rig.manager->statistics().blocks;
  CHECK_THROWS_AS(rig.manager->grow(handle.ref(), 32_MiB), OutOfTierMemory);
  CHECK(handle.ref().object->size == (1_MiB).count);
  CHECK(handle.ref().object->blocks.size() == blocks);
  CHECK(rig.manager->statistics().blocks == blocks);
  CHECK(object_of(handle.ref().object->window + (1_MiB).count).object == nullptr);
  rig.settle();
  CHECK(rig.used(0) + rig.used(1) == 1_MiB);
  rig.manager->grow(handle.ref(), 2_MiB);
  CHECK(handle.ref().object->window[(1_MiB).count - 1] == std::byte{7});
  CHECK_THROWS_AS(std::ignore = rig.manager->reserve_window({std::size_t{1} << 62}, 64, "too large"),
                  OutOfTierMemory);
  rig.settle();
}

TEST_CASE("a window that cannot be made leaves nothing, also where its first block is on its way elsewhere") {
  if (!test::has_windows()) return;
  Rig rig{8_MiB, 8_MiB, false};
  std::optional<BlockId> first;
  bool leaves = false;
  rig.policy->on_place = [&](PolicyContext& context, BlockId id) {
    if (first && !leaves) leaves = context.evict(*first, 1) == Outcome::Done;
    if (!first) first = id;
  };
  CHECK_THROWS_AS(std::ignore = rig.manager->create_window(64_MiB, 64, "too large"), OutOfTierMemory);
  CHECK(leaves);
  rig.settle();
  CHECK(rig.used(0) == 0_B);
  CHECK(rig.used(1) == 0_B);
  CHECK(rig.manager->statistics().blocks == 0);
}

TEST_CASE("a retired block of an object has no bytes anywhere, and may be revived") {
  if (!test::has_windows()) return;
  for (const bool early : {true, false}) {
    CAPTURE(early);
    Rig rig{8_MiB, 16_MiB, false};
    rig.policy->early = early;
    Windowed object{rig, 6_MiB};
    object.fill(3);
    const auto id = object.handle.ref().object->blocks[1]->id;
    auto* const there = object.bytes.data() + (2_MiB).count;
    migrate(rig, object.handle, 1);
    object.fill(4);
    for (int round = 0; round < 3; ++round) {
      rig.manager->retire(id);
      if (early)
        CHECK(eventually([&] { return rig.used(0) == 4_MiB; }));  // the last fault may still be under way
      migrate(rig, object.handle, 1);
      rig.settle();
      rig.manager->revive(id);
      rig.manager->revive(id);
      *there = std::byte{5};
      migrate(rig, object.handle, 1);
      CHECK(*there == std::byte{5});
      std::memset(there, 4, (2_MiB).count);
      CHECK(object.all_are(4));
      rig.settle();
    }
  }
}

TEST_CASE(
    "a block that is retired while a scope has it keeps its bytes until then, or if it is revived before") {
  if (!test::has_windows()) return;
  Rig rig{8_MiB, 16_MiB, true};
  Windowed object{rig, 4_MiB};
  object.fill(3);
  const auto id = object.handle.ref().object->blocks[1]->id;
  for (const bool revived : {true, false}) {
    CAPTURE(revived);
    auto operand = Operand::advice_at(&object.bytes.back(), Use::Read);
    REQUIRE(operand.entered);
    rig.manager->retire(id);
    CHECK(object.bytes.back() == std::byte{3});
    if (revived) rig.manager->revive(id);
    Manager::leave({&operand, 1});
    CHECK(rig.used(0) == (revived ? 4_MiB : 2_MiB));
    if (revived) CHECK(object.all_are(3));
    rig.settle();
  }
}

TEST_CASE("who overwrites some of a retired block keeps what others store beside it until he has entered") {
  if (!test::has_windows()) return;
  Rig rig{8_MiB, 32_MiB, false};
  Windowed window{rig, 2_MiB};
  window.fill(3);
  rig.manager->retire(window.handle.ref());
  const auto cold = rig.make(4_MiB, 'c');
  REQUIRE(rig.evict(cold) == Outcome::Done);
  rig.settle();
  const auto hot = rig.make(6_MiB, 'h');
  std::optional<Entered> holder{std::in_place, rig, hot, Use::Read};
  struct Misses final : Observer {
    void on_miss(const MissEvent&) noexcept override { ++count; }
    std::atomic<int> count{0};
  } misses;
  rig.manager->add_observer(misses);
  auto writer = in_thread([&] {
    std::array batch{
        Operand::of(cold.ref(), Use::Update),
        Operand::advice_at(window.bytes.data(), Use::Overwrite, window.bytes.first((1_MiB).count))};
    rig.manager->enter(batch, {1, true, {}});
    Manager::leave(batch);
  });
  until([&] { return misses.count > 0; });
  std::ignore = rig.manager->statistics();  // takes the lock, which the scope releases when it waits
  const auto rest = window.bytes.last((1_MiB).count);
  std::memset(rest.data(), 't', rest.size());
  migrate(rig, window.handle, 1);
  holder.reset();
  writer.get();
  rig.manager->remove_observer(misses);
  CHECK(std::ranges::all_of(rest, [](std::byte b) { return b == std::byte{'t'}; }));
  rig.settle();
}

TEST_CASE("whoever uses what is gone from a window ends the program, which says what it was") {
  if (!test::has_windows()) return;
  struct Use {
    const char* label;
    std::function<void(Rig&, Windowed&)> end;
    const char* message;
  };
  const std::vector<Use> uses {
    {"a retired block",
     [](Rig& rig, Windowed& object) { rig.manager->retire(object.handle.ref().object->blocks[1]->id); },
     "which is in the retired object \"the index\""},
        {"a retired object", [](Rig& rig, Windowed& object) { rig.manager->retire(object.handle.ref()); },
         "which is in the retired object \"the index\""},
        {"a retired object in the slow tier",
         [](Rig& rig, Windowed& object) {
           migrate(rig, object.handle, 1);
           rig.manager->retire(object.handle.ref());
         },
         "which is in the retired object \"the index\""},
        {"an object that was assigned to", [](Rig&, Windowed& object) { object.handle = ObjectHandle{}; },
         "which is in a window of \"freed memory\""},
#if defined(TIER_CHECKED)
        {"an object after which others came",
         [](Rig& rig, Windowed& object) {
           object.handle.reset();
           static std::vector<Windowed> others;
           for (int i = 0; i < 3; ++i) others.emplace_back(rig, 4_MiB);
         },
         "which is in a window of \"freed memory\""},
#endif
  };
  for (const auto& use : uses)
    for (const bool write : {true, false}) {
      const auto label = std::string{use.label} + (write ? ", a store" : ", a load");
      const auto ended = test::run_in_child(label, [&] {
        Rig rig{16_MiB, 16_MiB, true};
        Windowed object{rig, 4_MiB, "the index"};
        object.fill(3);
        use.end(rig, object);
        volatile auto* const last = reinterpret_cast<char*>(&object.bytes.back());
        if (write)
          *last = 4;
        else
          std::ignore = char{*last};
      });
      CAPTURE(label);
      CAPTURE(ended.errors);
      CHECK(ended.signal == SIGABRT);
      CHECK(ended.errors.find(write ? "libtier: a store to " : "libtier: a load from ") != std::string::npos);
      CHECK(ended.errors.find(use.message) != std::string::npos);
    }
}

TEST_CASE(
    "a window takes whole pages of its tier, and whoever goes on behind them ends the program, which says "
    "so") {
  if (!test::has_windows()) return;
  const auto page = Bytes{page_size()};
  for (const Bytes size : {Bytes{1}, 64_KiB + 1_B, 4_MiB + 5 * page}) {
    CAPTURE(size.count);
    const auto ended = test::run_in_child(std::to_string(size.count), [&] {
      Rig rig{16_MiB, 16_MiB, true};
      Windowed object{rig, size, "the index"};
      const auto whole = (size.count + page.count - 1) / page.count * page.count;
      if (rig.used(0) != Bytes{whole}) std::fputs("other pages", stderr);
      std::memset(object.bytes.data(), 1, whole);
      std::memset(object.bytes.data() + whole, 1, 1);
    });
    CAPTURE(ended.errors);
    CHECK(ended.signal == SIGABRT);
    CHECK(ended.errors.starts_with("libtier: a store to "));
    CHECK(ended.errors.find("which is behind the object \"the index\"") != std::string::npos);
  }
}

#if defined(TIER_CHECKED)
TEST_CASE(
    "where the system pages, whoever uses what is gone faults in a checked build, until its addresses serve "
    "again") {
  for (const bool addressable : {true, false}) {
    CAPTURE(addressable);
    const auto ended = run_in_child(addressable ? "memory" : "file", [addressable] {
      Rig rig{16_MiB, 16_MiB, addressable, WindowMode::Restricted};
      for (int round = 0; round < 1000; ++round) {  // more than the addresses that rest
        const Windowed object{rig, 100_KiB};
        object.fill(3);
      }
      Windowed object{rig, 100_KiB};
      object.handle.reset();
      std::fputs("so far", stderr);
      object.fill(4);
    });
    CAPTURE(ended.errors);
    CHECK(ended.errors.starts_with("so far"));
    CHECK((ended.signal == SIGSEGV || (test::sanitized && ended.code != 0)));
  }
}

TEST_CASE("addresses that rest after their objects serve when there are no others") {
  if (!test::has_windows()) return;
  Rig rig{4_MiB, 4_MiB, true};
  constexpr Bytes most{std::size_t{200} << 30};  // address space of an object
  for (int i = 0; i < 100; ++i) CHECK(rig.manager->reserve_window(most, 64, "large").ref().object->size > 0);
}
#endif

TEST_CASE("a store into a page that nobody had touched is not lost while its block is copied") {
  if (!test::has_windows()) return;
  Rig rig{4_MiB, 16_MiB, true};  // its memory is untouched, so no pages are present
  Windowed object{rig, 2_MiB};
  object.bytes.back() = std::byte{1};
  int chunks = 0;
  rig.slow().fails = [&](Direction direction, std::uint64_t, std::uint64_t) {
    if (direction == Direction::Write && ++chunks == 3) object.bytes[5] = std::byte{2};  // in the first chunk
    return std::error_code{};
  };
  migrate(rig, object.handle, 1);
  CHECK(chunks >= 3);
  rig.slow().fails = nullptr;
  migrate(rig, object.handle, 1);
  CHECK(object.bytes[5] == std::byte{2});
  CHECK(object.bytes.back() == std::byte{1});
  rig.settle();
}

TEST_CASE("faults that wait for a copy do not keep the copy from the pages that it touches") {
  if (!test::has_windows()) return;
  const auto ended = run_in_child("many faults", [] {
    ::alarm(5);  // a deadlock would last for ever
    std::vector<std::future<void>> readers;
    std::atomic<int> seen{0};
    Rig rig{2_MiB, 16_MiB, false};
    const Windowed wanted{rig, 2_MiB};
    wanted.fill(3);
    migrate(rig, wanted.handle, 1);
    REQUIRE(::madvise(rig.fast().contents(), Bytes{2_MiB}.count, MADV_DONTNEED) == 0);
    const Windowed leaving{rig, 2_MiB};
    leaving.bytes.back() = std::byte{2};  // its other pages are untouched
    const auto faults = rig.manager->statistics().window_faults;
    rig.slow().fails = [&](Direction direction, std::uint64_t, std::uint64_t) {
      if (direction == Direction::Write && readers.empty()) {
        for (int i = 0; i < 8; ++i)
          readers.push_back(in_thread([&] { seen += wanted.bytes[5] == std::byte{3} ? 1 : 0; }));
        while (rig.manager->statistics().window_faults < faults + 4) std::this_thread::yield();
      }
      return std::error_code{};
    };
    migrate(rig, leaving.handle, 1);
    for (auto& reader : readers) reader.get();
    const bool kept = seen == 8 && leaving.bytes[5] == std::byte{0} && leaving.bytes.back() == std::byte{2};
    rig.settle();
    std::fputs(kept ? "kept" : "lost", stderr);
  });
  CHECK(ended.errors == "kept");
}

}  // namespace tier::windows_test
