// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Scopes on groups also cover allocations that are made after they begin.
#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/pmr/arena_resource.hpp>
#include <tier/pmr/container_scopes.hpp>
#include <tier/pmr/containers.hpp>
#include <tier/pmr/failure_callback_resource.hpp>
#include <tier/pmr/group_resource.hpp>
#include <tier/pmr/limiting_resource.hpp>
#include <tier/pmr/logging_resource.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/pmr/pool_resource.hpp>
#include <tier/pmr/statistics_resource.hpp>
#include <tier/scope/scope.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <future>
#include <list>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "support/archiving.hpp"
#include "support/eventually.hpp"
#include "support/sanitized.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "support/test_manager.hpp"
#include "support/windows.hpp"

namespace tier::group_scopes_test {
namespace {

using namespace literals;

template <class T>
concept CanBePutAside = HintOperand<T, Use::Read>;
template <class T>
concept CanSayItWillWrite = HintOperand<T, Use::Update>;
static_assert(CanBePutAside<std::pmr::list<int>&> && CanBePutAside<const std::pmr::vector<int>&>);
static_assert(CanBePutAside<MigratingResource&> && CanBePutAside<const GroupResource&>);
static_assert(CanBePutAside<PoolResource&> && CanBePutAside<ArenaResource&>);
static_assert(!CanBePutAside<std::pmr::list<int>> && !CanBePutAside<const std::pmr::list<int>>);
static_assert(!CanBePutAside<std::list<int>&>, "nobody knows its memory");
static_assert(CanSayItWillWrite<std::pmr::list<int>&> && CanSayItWillWrite<ArenaResource&>);
static_assert(!CanSayItWillWrite<const std::pmr::list<int>&> && !CanSayItWillWrite<std::pmr::list<int>>);
static_assert(!CanSayItWillWrite<const GroupResource&>);

std::vector<TierSpec> two_tiers() { return {tiers::dram(16_MiB), tiers::emulated("cxl", 64_MiB)}; }
std::shared_ptr<Manager> manager_in(WindowMode mode) { return test::make_manager(two_tiers(), mode); }

Bytes used(const Manager& manager, TierIndex tier) { return manager.statistics().tiers[tier].used; }

/// Calls a function with a resource of each kind that is a group, and with the kind's name.
template <class F>
void for_each_group(const std::shared_ptr<Manager>& manager, F&& f) {
  {
    MigratingResource memory{manager};
    f("migrating", memory);
  }
  {
    MigratingResource memory{manager};
    GroupResource group{memory};
    f("group", group);
  }
  {
    MigratingResource memory{manager};
    PoolResource pool{&memory};
    f("pool", pool);
  }
  for (const bool monotonic : {false, true}) {
    ArenaResource arena{manager, 1_GiB, {.monotonic = monotonic}};
    f(monotonic ? "monotonic arena" : "arena", arena);
  }
}

constexpr std::size_t large = 300'000, small = 100;

std::set<BlockId> blocks_of(const auto& object) {
  std::set<BlockId> blocks;
  for (const auto& block : detail::blocks_of(object)) blocks.insert(block.id);
  return blocks;
}

std::set<BlockId> blocks_told(const test::Recording& recorded, Hint hint) {
  std::set<BlockId> blocks;
  for (const auto& given : recorded->hints)
    if (given.hint == hint) blocks.insert(given.block);
  return blocks;
}

/// An allocation that is filled with its own byte.
class Filled {
 public:
  Filled(std::pmr::memory_resource& resource, std::size_t size, int byte)
      : resource_{resource}, size_{size}, bytes_{static_cast<char*>(resource.allocate(size))}, byte_{byte} {
    std::memset(bytes_, byte, size);
  }
  ~Filled() {
    CHECK(std::all_of(bytes_, bytes_ + size_, [this](char c) { return c == static_cast<char>(byte_); }));
    resource_.deallocate(bytes_, size_);
  }
  Filled(const Filled&) = delete;
  Filled& operator=(const Filled&) = delete;

 private:
  std::pmr::memory_resource& resource_;
  std::size_t size_;
  char* bytes_;
  int byte_;
};

}  // namespace

TEST_CASE("what a group gets while scopes are open on it stays until the last of them ends") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = manager_in(mode);
    for_each_group(manager, [&](const char* kind, auto& group) {
      CAPTURE(std::string{kind});
      {
        std::optional<Filled> early, late, last;
        {
          const ReadScope nothing{group};
          early.emplace(group, large, 1);
          std::optional<Scope> outer{ReadScope{group}};
          {
            const ReadScope inner{group};
            late.emplace(group, large, 2);
          }
          last.emplace(group, small, 3);
          Scope moved{std::move(*outer)};
          outer.reset();
          migrate(group, 1);
          CHECK(used(*manager, 1) == 0_B);
        }
        migrate(group, 1);
        CHECK(test::eventually([&] { return used(*manager, 0) == 0_B; }));
        CHECK(used(*manager, 1) >= Bytes{2 * large});
      }
      group.release();
      CHECK(test::eventually([&] { return used(*manager, 1) == 0_B; }));
    });
    manager->check_invariants();
  }
}

TEST_CASE(
    "what is freed while scopes are open on its group goes at once, unless it was there when they began") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = manager_in(mode);
    for_each_group(manager, [&](const char* kind, auto& group) {
      CAPTURE(std::string{kind});
      if (std::string_view{kind} == "monotonic arena") return;
      const ReadScope open{group};
      std::optional<Filled> kept{std::in_place, group, large, 1};
      const auto before = used(*manager, 0);
      for (int round = 0; round < (test::sanitized ? 10 : 100); ++round)
        const Filled freed{group, 10 * large, 2};
      CHECK(test::eventually([&] { return used(*manager, 0) <= before + 256_KiB; }));
      kept.reset();
    });
    manager->check_invariants();
  }
}

TEST_CASE("a group has each block of its slabs once, however many of them lie in it") {
  if (!test::has_windows()) return;
  const auto manager = test::make_manager({tiers::dram(64_MiB), tiers::emulated("cxl", 64_MiB)});
  const auto check = [&](std::pmr::memory_resource& resource, std::size_t most) {
    std::vector<void*> cells;
    for (int i = 0; i < 400'000; ++i) cells.push_back(resource.allocate(64));
    std::set<BlockId> blocks;
    std::size_t visited = 0;
    dynamic_cast<const AllocationGroup&>(resource).for_each_block(std::size_t(-1), [&](const void* p) {
      blocks.insert(block_of(p).id);
      ++visited;
    });
    CHECK(visited == blocks.size());
    CHECK(visited <= most);
    CHECK(manager->statistics().tiers[0].used >= 24_MiB);
    for (void* cell : cells) resource.deallocate(cell, 64);
  };
  MigratingResource memory{manager};
  PoolResource pool{&memory};  // each slab is an object
  check(pool, 420);
  ArenaResource arena{manager, 64_MiB};  // of blocks of 2 MiB
  GroupResource group{arena};
  check(group, 40);
}

TEST_CASE("a scope on a group may end after it") {
  if (!test::has_windows()) return;
  const auto manager = manager_in(WindowMode::Full);
  std::optional<Scope> open;
  for_each_group(manager, [&](const char* kind, auto& group) {
    CAPTURE(std::string{kind});
    open.emplace(ReadScope{group});
    const Filled in_it{group, large, 1};
  });
  open.reset();
  CHECK(test::eventually([&] { return used(*manager, 0) == 0_B; }));
  manager->check_invariants();
}

TEST_CASE("a scope on more than fits leaves room for faults, also when it comes later") {
  if (!test::has_windows()) return;
  const auto manager = manager_in(WindowMode::Full);
  for_each_group(manager, [&](const char* kind, auto& group) {
    CAPTURE(std::string{kind});
    std::list<Filled> all;
    const ReadScope open{group};
    for (int i = 0; i < 100; ++i) all.emplace_back(group, large, i);
    CHECK(used(*manager, 1) >= 10_MiB);
  });
  manager->check_invariants();
}

TEST_CASE("a scope on a group that does not fit beside what is pinned brings as much as does") {
  if (!test::has_windows()) return;
  const auto manager = manager_in(WindowMode::Full);
  MigratingResource memory{manager};
  std::list<Filled> all;
  for (int i = 0; i < 60; ++i) all.emplace_back(memory, large / 4, i);
  migrate(memory, 1);
  const auto object = manager->create(13_MiB, 64, "pinned");
  const std::array objects{object.ref()};
  const WriteScope out{overwrites(objects)};
  const ReadScope in{memory};
  CHECK(used(*manager, 0) >= 14_MiB);
  manager->check_invariants();
}

TEST_CASE("a scope on a container covers the group behind resources that pass on what is asked of them") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = manager_in(mode);
    MigratingResource memory{manager};
    GroupResource group{memory};
    LimitingResource limited{group, 1_GiB};
    StatisticsResource counted{limited};
    LoggingResource logged{counted, [](const auto&) {}};
    FailureCallbackResource helped{logged, [](Bytes) { return false; }};
    std::pmr::list<int> list(10'000, 7, &helped);
    {
      const ReadScope in{list};
      list.resize(20'000, 7);
      migrate(memory, 1);
      CHECK(used(*manager, 1) == 0_B);
    }
    migrate(list, 1);
    CHECK(test::eventually([&] { return used(*manager, 0) == 0_B; }));
    CHECK(std::ranges::all_of(list, [](int i) { return i == 7; }));
  }
}

TEST_CASE("a scope on one of our vectors covers its elements, and not what else its resource has") {
  const auto manager = manager_in(test::window_modes().front());
  MigratingResource memory{manager};
  const std::pmr::list<std::array<char, 4000>> beside(1000, &memory);
  const auto check = [&](const auto& vector) {
    const ReadScope in{vector};
    std::size_t blocks = 0, own = 0;
    ScopeTraits<std::remove_cvref_t<decltype(vector)>>::for_each_address(vector, std::size_t(-1),
                                                                         [&](const void*) { ++blocks; });
    const auto bytes = std::as_bytes(std::span{vector.data(), vector.size()});
    detail::visit_blocks(bytes.data(), bytes.size(), std::size_t(-1), [&](const void*) { ++own; });
    CHECK(blocks == own);
    CHECK(blocks < memory.block_count());
  };
  check(std::pmr::vector<int>(300'000, &memory));
  check(containers::vector<int>(300'000, &memory));
}

TEST_CASE("an ArchiveScope puts all blocks of a group aside and pins none, and a scope inside ends it") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const test::ArchivingRig rig{two_tiers(), mode};
    for_each_group(rig.manager, [&](const char* kind, auto& group) {
      CAPTURE(std::string{kind});
      const Filled first{group, large, 1}, second{group, small, 2};
      const auto blocks = blocks_of(group);
      CHECK(blocks.size() > 1);
      const test::Recording recorded{*rig.manager};
      {
        const ArchiveScope cold{group};
        CHECK(rig.archived() == blocks);
        migrate(group, 1);
        CHECK(used(*rig.manager, 0) == 0_B);
        { const ReadScope in{group}; }
        CHECK(rig.archived().empty());
        archive(group);
        CHECK(rig.archived() == blocks);
      }
      CHECK(rig.archived().empty());
      CHECK(blocks_told(recorded, Hint::WillUse) == blocks);
    });
    CHECK(rig.manager->statistics().hints_dropped == 0);
    rig.manager->check_invariants();
  }
}

TEST_CASE(
    "hints on a container are told of its elements where they are contiguous, else of all of its group") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const test::ArchivingRig rig{two_tiers(), mode};
    MigratingResource memory{rig.manager};
    std::pmr::vector<int> numbers(large, 1, &memory);
    std::pmr::list<int> list(1'000, 2, &memory);
    const auto elements = blocks_of(numbers), all = blocks_of(memory);
    CHECK(elements.size() > 1);
    CHECK(elements.size() < all.size());
    const test::Recording recorded{*rig.manager};
    will_use(numbers);
    CHECK(blocks_told(recorded, Hint::WillUse) == elements);
    will_read(list);
    CHECK(blocks_told(recorded, Hint::WillRead) == all);
    will_write(numbers, list);
    CHECK(blocks_told(recorded, Hint::WillWrite) == all);
    {
      const ArchiveScope cold{std::as_const(numbers)};
      CHECK(rig.archived() == elements);
      const ArchiveScope all_cold{list};
      CHECK(rig.archived() == all);
      CHECK(list.back() == 2);
    }
    CHECK(rig.archived().empty());
  }
}

TEST_CASE("what is freed or grows inside an ArchiveScope has no part in its end") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const test::ArchivingRig rig{two_tiers(), mode};
    for_each_group(rig.manager, [&](const char* kind, auto& group) {
      CAPTURE(std::string{kind});
      std::optional<std::pmr::vector<std::pmr::list<int>>> lists{std::in_place, 10, &group};
      for (auto& list : *lists) list.resize(1'000);
      const test::Recording recorded{*rig.manager};
      {
        const ArchiveScope cold{group};
        lists.reset();
        group.release();
        lists.emplace(10, &group);
        lists->front().resize(5'000);
      }
      CHECK(rig.archived().empty());
      CHECK(blocks_told(recorded, Hint::WillUse).empty());
      lists.reset();
    });
    rig.manager->check_invariants();
  }
}

TEST_CASE("threads open scopes on a group while others allocate in it, and move it") {
  const auto seed = test::seed();
  CAPTURE(seed);
  const auto steps =
      std::min<std::uint64_t>(test::steps(test::thread_sanitized ? 100 : 1'000), 20'000);  // on whole groups
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = manager_in(mode);
    for_each_group(manager, [&](const char* kind, auto& group) {
      CAPTURE(std::string{kind});
      if (std::string_view{kind} == "monotonic arena") return;  // it keeps all memory that it ever had
      std::vector<std::future<void>> threads;
      for (unsigned thread = 0; thread < 4; ++thread)
        threads.push_back(std::async(std::launch::async, [&, thread] {
          std::mt19937_64 random{seed + thread};
          std::list<Filled> mine;
          for (std::uint64_t i = 0; i < steps; ++i) switch (random() % 8) {
              case 0: {
                const ReadScope open{group};
                mine.emplace_back(group, 1 + random() % large, static_cast<int>(i % 100));
                break;
              }
              case 1:
                try {
                  migrate(group, random() % 2);
                } catch (const OutOfTierMemory&) {  // pinned blocks are in the way
                }
                break;
              default:
                mine.emplace_back(group, 1 + random() % small, static_cast<int>(i % 100));
                while (mine.size() > 20) mine.erase(std::next(mine.begin(), static_cast<int>(random() % 20)));
            }
        }));
      for (auto& thread : threads) thread.get();
      group.release();
      CHECK(test::eventually([&] { return used(*manager, 0) + used(*manager, 1) == 0_B; }));
    });
    manager->check_invariants();
  }
}

}  // namespace tier::group_scopes_test
