// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Free memory in windows is neither fetched nor written back.
#include <doctest/doctest.h>
#include <tier/core/function_ref.hpp>
#include <tier/pmr/allocation_group.hpp>
#include <tier/pmr/arena_resource.hpp>
#include <tier/pmr/group_resource.hpp>
#include <tier/pmr/limiting_resource.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/pmr/pool_resource.hpp>
#include <tier/scope/hints.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <memory_resource>
#include <string>
#include <vector>

#include "pmr/slow_tiers.hpp"
#include "support/temporary_directory.hpp"
#include "support/test_manager.hpp"
#include "support/windows.hpp"

namespace tier::free_memory_test {
namespace {

using namespace literals;
using test::make_manager;

using Use = FunctionRef<void(std::pmr::memory_resource&, const AllocationGroup&)>;

/// A resource that cuts small cells from windows, on its own runtime.
struct Case {
  const char* name;
  std::function<void(const std::shared_ptr<Manager>&, Use)> use;
};
const std::vector<Case> cases{{"MigratingResource",
                               [](const auto& manager, auto use) {
                                 MigratingResource memory{manager};
                                 use(memory, memory);
                               }},
                              {"GroupResource",
                               [](const auto& manager, auto use) {
                                 MigratingResource memory{manager};
                                 GroupResource group{memory};
                                 use(group, group);
                               }},
                              {"PoolResource",
                               [](const auto& manager, auto use) {
                                 MigratingResource memory{manager};
                                 PoolResource pool{&memory};
                                 use(pool, pool);
                               }},
                              {"PoolResource over others over a GroupResource",
                               [](const auto& manager, auto use) {
                                 MigratingResource memory{manager};
                                 GroupResource group{memory};
                                 LimitingResource limiting{group, 1_GiB};
                                 PoolResource below{&limiting}, pool{&below};
                                 use(pool, pool);
                               }},
                              {"PoolResource in an arena",
                               [](const auto& manager, auto use) {
                                 ArenaResource arena{manager, 64_MiB};
                                 PoolResource pool{&arena};
                                 use(pool, pool);
                               }},
                              {"ArenaResource", [](const auto& manager, auto use) {
                                 ArenaResource arena{manager, 64_MiB};
                                 use(arena, arena);
                               }}};

/// Bytes copied between tiers, and waits.
struct Traffic {
  explicit Traffic(const Manager& manager) {
    const auto statistics = manager.statistics();
    for (const auto& some : statistics.moved) bytes += some.bytes;
    faults = statistics.window_faults;
    writes_held = statistics.window_writes_held;
  }
  friend bool operator==(const Traffic&, const Traffic&) = default;

  std::uint64_t bytes = 0, faults = 0, writes_held = 0;
};

Bytes used(const Manager& manager, std::size_t tier) { return manager.statistics().tiers[tier].used; }

constexpr std::size_t cell = 1000;

std::vector<void*> fill_cells(std::pmr::memory_resource& resource, Bytes bytes) {
  std::vector<void*> cells;
  for (std::size_t i = 0; i < bytes.count / cell; ++i) {
    cells.push_back(resource.allocate(cell));
    std::memset(cells.back(), 7, cell);
  }
  return cells;
}
void free_cells(std::pmr::memory_resource& resource, const std::vector<void*>& cells) {
  for (void* p : cells) resource.deallocate(p, cell);
}

}  // namespace

TEST_CASE("deallocating what is in a slow tier fetches and copies nothing, and drops what is empty") {
  if (!test::has_windows()) return;
  const test::TemporaryDirectory directory;
  for (const auto& slow : test::slow_tiers())
    for (const auto& one : cases) {
      CAPTURE(std::string{slow.name});
      CAPTURE(std::string{one.name});
      const auto manager = make_manager({tiers::dram(16_MiB), slow.spec(directory.path(), 64_MiB)});
      one.use(manager, [&](std::pmr::memory_resource& resource, const AllocationGroup& group) {
        const auto cells = fill_cells(resource, 4_MiB);
        migrate(group, 1);
        manager->quiesce();
        CHECK(used(*manager, 1) >= 4_MiB);
        const Traffic before{*manager};
        free_cells(resource, cells);
        manager->quiesce();
        CHECK(Traffic{*manager} == before);
        CHECK(used(*manager, 1) <= 1_MiB);  // the thread's cache, and a slab or a block with one
      });
      manager->check_invariants();
    }
}

TEST_CASE("slabs that are empty are not written back when their room is wanted") {
  if (!test::has_windows()) return;
  for (const auto& one : cases) {
    CAPTURE(std::string{one.name});
    const auto manager = make_manager({tiers::dram(4_MiB), tiers::emulated("cxl", 64_MiB)});
    one.use(manager, [&](std::pmr::memory_resource& resource, const AllocationGroup&) {
      free_cells(resource, fill_cells(resource, 3_MiB));
      MigratingResource other{manager};
      const std::pmr::vector<int> numbers((3_MiB).count / sizeof(int), 7, &other);
      manager->quiesce();
      CHECK(Traffic{*manager}.bytes <= (512_KiB).count);
    });
  }
}

}  // namespace tier::free_memory_test
