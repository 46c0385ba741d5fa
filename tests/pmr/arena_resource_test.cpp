// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Arenas: allocations that move together.
#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/pmr/arena_resource.hpp>
#include <tier/pmr/container_scopes.hpp>
#include <tier/scope/scope.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <list>
#include <string>
#include <tuple>
#include <vector>

#include "pmr/both_containers.hpp"
#include "pmr/movers.hpp"
#include "pmr/slow_tiers.hpp"
#include "support/child.hpp"
#include "support/eventually.hpp"
#include "support/message_of.hpp"
#include "support/sanitized.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "support/temporary_directory.hpp"
#include "support/test_manager.hpp"
#include "support/windows.hpp"

namespace tier::arena_resource_test {
namespace {

using namespace literals;
using test::make_manager;

constexpr ArenaOptions reusing{.name = "index"};
constexpr ArenaOptions monotonic{.name = "index", .monotonic = true};

std::shared_ptr<Manager> small_manager() {
  return make_manager({tiers::dram(16_MiB), tiers::emulated("cxl", 64_MiB)});
}
Bytes used(const Manager& manager, std::size_t tier) { return manager.statistics().tiers[tier].used; }
Bytes used(const Manager& manager) { return used(manager, 0) + used(manager, 1); }

}  // namespace

TEST_CASE("all that is allocated in an arena is one object, and moves as one") {
  if (!test::has_windows()) return;
  for (const auto& options : {reusing, monotonic}) {
    CAPTURE(options.monotonic);
    const auto manager = small_manager();
    ArenaResource arena{manager, 1_GiB, options};
    std::pmr::vector<int> numbers(1'000'000, 7, &arena);
    std::pmr::string text(100, 'x', &arena);
    std::pmr::list<int> list(1000, 8, &arena);
    CHECK(object_of(numbers.data()).object != nullptr);
    CHECK(object_of(numbers.data()) == object_of(text.data()));
    CHECK(object_of(numbers.data()) == object_of(&list.back()));
    CHECK(object_of(text.data()).object->name == "index");
    CHECK(manager->statistics().objects == 1);
    const auto all = used(*manager);
    CHECK(used(*manager, 0) == all);
    migrate(text, 1);  // a few bytes of the arena
    CHECK(used(*manager, 1) == all);
    CHECK(test::eventually([&] { return used(*manager, 0) == 0_B; }));
    migrate(list, 0);
    CHECK(used(*manager, 0) >= all);
    migrate(arena, 1);
    CHECK(test::message_of<ConfigError>([&] { migrate(arena, 2); }) ==
          "no such tier at position 0 of \"2\"; allowed: 0 to 1");
    CHECK(prefetch(text) == Outcome::Done);
    manager->quiesce();
    const auto faults = manager->statistics().window_faults;
    {
      const ReadScope in{text};
      CHECK(std::ranges::all_of(numbers, [](int i) { return i == 7; }));
      CHECK(std::ranges::all_of(list, [](int i) { return i == 8; }));
    }
    CHECK(manager->statistics().window_faults == faults);
    manager->check_invariants();
  }
}

TEST_CASE("containers in an arena do as those of std, while other threads move it") {
  if (!test::has_windows()) return;
  const test::TemporaryDirectory directory;
  const auto seed = test::seed();
  CAPTURE(seed);
  const auto steps = test::steps(test::sanitized ? 40'000 : 400'000) / test::slow_tiers().size();
  for (const auto& slow : test::slow_tiers()) {
    CAPTURE(std::string{slow.name});
    const auto manager = make_manager({tiers::dram(8_MiB), slow.spec(directory.path(), 512_MiB)});
    {
      ArenaResource arena{manager, 128_MiB, reusing}, bumped{manager, 1_GiB, monotonic};
      test::BothContainers in_arena{arena}, in_bumped{bumped};
      const test::Movers movers{arena, seed}, more_movers{bumped, seed + 2};
      test::step_and_compare(std::array{&in_arena}, steps, seed);
      test::step_and_compare(std::array{&in_bumped}, steps / 8, seed);  // it keeps all that it ever had
      CHECK(test::step_until(std::array{&in_arena}, seed, [&] { return test::has_moved_much(*manager); }));
    }
    manager->quiesce();
    manager->check_invariants();
    CHECK(test::eventually([&] { return used(*manager) == 0_B; }));
  }
}

TEST_CASE("an arena grows with what is in it, by no more than as much again or 2 MiB") {
  if (!test::has_windows()) return;
  // ThreadSanitizer leaves 1.5 TiB of addresses to a program; the kernel's random start may take 1 TiB of them.
  const auto most = test::thread_sanitized ? 64_GiB : 1_TiB;
  for (const auto& options : {reusing, monotonic}) {
    CAPTURE(options.monotonic);
    const auto manager = small_manager();
    ArenaResource arena{manager, most, options};
    CHECK(test::eventually([&] { return used(*manager) == 0_B; }));
    CHECK(arena.block_count() == 0);
    std::size_t bytes = 0;
    std::byte* first = nullptr;
    for (std::size_t size = 1; bytes < (8_MiB).count; size += size / 2 + 1) {
      auto* const p = static_cast<std::byte*>(arena.allocate(size, 1));
      std::memset(p, 1, size);
      if (first == nullptr) first = p;
      bytes += size;
      CHECK(used(*manager).count >= bytes);
      CHECK(used(*manager).count <= bytes + std::clamp<std::size_t>(2 * bytes, 256 << 10, 4 << 20));
    }
    CHECK(*first == std::byte{1});
    arena.release();
    CHECK(test::eventually([&] { return used(*manager) == 0_B; }));
  }
}

TEST_CASE("what is deallocated in an arena serves again, and whole blocks return to the tiers") {
  if (!test::has_windows()) return;
  const auto manager = small_manager();
  ArenaResource arena{manager, 12_MiB, reusing};
  for (int round = 0; round < 20; ++round) {  // far more than its maximum in total
    std::vector<void*> small, large;
    for (int i = 0; i < 1000; ++i) small.push_back(arena.allocate(1000));
    for (int i = 0; i < 80; ++i) large.push_back(arena.allocate(100'000));
    for (void* p : large) std::memset(p, round, 100'000);
    const auto full = used(*manager);
    for (void* p : large) arena.deallocate(p, 100'000);
    CHECK(used(*manager) + 6_MiB <= full);
    for (void* p : small) arena.deallocate(p, 1000);
    CHECK(used(*manager) <= 2_MiB);  // the thread's cache, and one slab that is kept
    CHECK(arena.block_count() <= 2);
    manager->check_invariants();
  }
  arena.release();
  CHECK(test::eventually([&] { return used(*manager) == 0_B; }));
}

TEST_CASE("a monotonic arena allocates in order and deallocates nothing") {
  if (!test::has_windows()) return;
  const auto manager = small_manager();
  ArenaResource arena{manager, 4_MiB, monotonic};
  auto* const first = static_cast<std::byte*>(arena.allocate(100, 1));
  CHECK(arena.allocate(28, 1) == first + 100);
  CHECK(arena.allocate(1, 64) == first + 128);
  CHECK(arena.allocate(0, 1) == first + 129);
  CHECK(arena.allocate(0, 1) == first + 130);
  CHECK(arena.allocate(8, 4096) == first + 4096);
  arena.deallocate(first, 100, 1);
  CHECK(arena.allocate(1, 1) == first + 4104);
  CHECK(arena.allocate(10, std::size_t{2} << 20) == first + (2_MiB).count);
  arena.release();
  const auto* const again = static_cast<std::byte*>(arena.allocate(100, 1));
  CHECK(object_of(again).object != nullptr);
}

TEST_CASE("an arena that is released has nothing, and begins anew") {
  if (!test::has_windows()) return;
  for (const auto& options : {reusing, monotonic}) {
    CAPTURE(options.monotonic);
    const auto manager = small_manager();
    ArenaResource arena{manager, 64_MiB, options};
    for (int round = 0; round < 3; ++round) {
      void* const p = arena.allocate((5_MiB).count);
      std::memset(p, 1, (5_MiB).count);
      std::ignore = arena.allocate(10);
      const auto id = object_of(p).id();
      arena.release();
      CHECK(test::eventually([&] { return used(*manager) == 0_B; }));
      CHECK(manager->statistics().objects == 0);
      CHECK(arena.block_count() == 0);
      void* const other = arena.allocate(10);
      CHECK(object_of(other).id() != id);
      arena.release();
    }
    arena.release();
    manager->check_invariants();
  }
}

TEST_CASE("an arena that is full says its name and its maximum, and goes on with what it has") {
  if (!test::has_windows()) return;
  for (const auto& options : {reusing, monotonic}) {
    CAPTURE(options.monotonic);
    const auto manager = small_manager();
    ArenaResource arena{manager, 1_MiB - 100_B, options};
    CHECK(arena.maximum() == 1_MiB);
    void* const p = arena.allocate((700_KiB).count);
    std::memset(p, 1, (700_KiB).count);
    const auto before = used(*manager);
    for (const std::size_t size :
         {(400_KiB).count, (1_MiB).count + 1, std::size_t{1} << 40, ~std::size_t{0}}) {
      const auto message = test::message_of<OutOfTierMemory>([&] { std::ignore = arena.allocate(size); });
      CAPTURE(message);
      CHECK(message.starts_with("no room for " + std::to_string(size) +
                                " bytes aligned to 16 in the arena \"index\": "));
      CHECK(message.ends_with("of at most 1048576 bytes are in use"));
    }
    CHECK_THROWS_AS(std::ignore = arena.allocate(1, std::size_t{4} << 20), OutOfTierMemory);
    CHECK(used(*manager) == before);
    std::ignore = arena.allocate((300_KiB).count);
    int count = 0;
    CHECK(test::message_of<OutOfTierMemory>([&] {
            for (;; ++count) std::ignore = arena.allocate(1000);
          }).find("\"index\"") != std::string::npos);
    CHECK(count < 100);
    manager->check_invariants();
  }
}

TEST_CASE("an arena whose first allocation finds no room has nothing") {
  if (!test::has_windows()) return;
  const auto manager = make_manager({tiers::dram(2_MiB), tiers::dram(4_MiB)});
  ArenaResource arena{manager, 1_GiB, reusing};
  CHECK_THROWS_AS(std::ignore = arena.allocate((32_MiB).count), OutOfTierMemory);
  CHECK(used(*manager) == 0_B);
  CHECK(manager->statistics().objects == 0);
  manager->check_invariants();
  auto* const p = static_cast<std::byte*>(arena.allocate((1_MiB).count));
  std::memset(p, 9, (1_MiB).count);
  CHECK(manager->statistics().objects == 1);
}

TEST_CASE("an arena for which the tiers have no room is as it was") {
  if (!test::has_windows()) return;
  for (const auto& options : {reusing, monotonic}) {
    CAPTURE(options.monotonic);
    const auto manager = make_manager({tiers::dram(2_MiB), tiers::dram(4_MiB)});
    ArenaResource arena{manager, 1_GiB, options};
    auto* const first = static_cast<std::byte*>(arena.allocate((1_MiB).count));
    std::memset(first, 9, (1_MiB).count);
    const auto before = used(*manager);
    for (int i = 0; i < 3; ++i) {
      const auto message =
          test::message_of<OutOfTierMemory>([&] { std::ignore = arena.allocate((32_MiB).count); });
      CAPTURE(message);
      CHECK(message.find("(index)") != std::string::npos);
      CHECK(used(*manager) == before);
      manager->check_invariants();
    }
    std::ignore = arena.allocate((2_MiB).count);
    CHECK(std::all_of(first, first + (1_MiB).count, [](std::byte b) { return b == std::byte{9}; }));
  }
}

TEST_CASE("blocks that an alignment skips are nowhere") {
  if (!test::has_windows()) return;
  const auto manager = small_manager();
  ArenaResource arena{manager, 64_MiB, reusing};
  constexpr std::size_t far = std::size_t{2} << 20;
  void* const a = arena.allocate(far, far);
  void* const b = arena.allocate(10, far);
  CHECK(used(*manager) <= 4_MiB);
  CHECK(static_cast<std::byte*>(b) - static_cast<std::byte*>(a) == std::ptrdiff_t{far});
  arena.deallocate(a, far, far);
  CHECK(used(*manager) <= 2_MiB);
  *static_cast<std::byte*>(b) = std::byte{1};
  migrate(arena, 1);
  CHECK(*static_cast<std::byte*>(b) == std::byte{1});
  arena.deallocate(b, 10, far);
  CHECK(test::eventually([&] { return used(*manager) == 0_B; }));
}

TEST_CASE("a pointer into what an arena has given back ends the program, which names the arena") {
  if (!test::has_windows()) return;
  const auto ended = test::run_in_child("touch", [] {
    const auto manager = small_manager();
    ArenaResource arena{manager, 64_MiB, reusing};
    const auto kept = arena.allocate(100);
    auto* const p = static_cast<volatile char*>(arena.allocate((5_MiB).count));
    arena.deallocate(const_cast<char*>(p), (5_MiB).count);
    p[(4_MiB).count] = 1;
    std::ignore = kept;
  });
  CHECK(ended.signal == SIGABRT);
  CAPTURE(ended.errors);
  CHECK(ended.errors.find("which is in the retired object \"index\"") != std::string::npos);
}

}  // namespace tier::arena_resource_test
