// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The standard's containers on memory that changes tiers.
#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/pmr/container_scopes.hpp>
#include <tier/pmr/group_resource.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/scope/scope.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <iterator>
#include <random>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "pmr/both_containers.hpp"
#include "pmr/movers.hpp"
#include "pmr/slow_tiers.hpp"
#include "support/eventually.hpp"
#include "support/message_of.hpp"
#include "support/sanitized.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "support/temporary_directory.hpp"
#include "support/test_manager.hpp"
#include "support/windows.hpp"

namespace tier::migrating_resource_test {
namespace {

using namespace literals;
using test::make_manager;
using test::slow_tiers;

/// Returns the bytes that are allocated in the tiers.
double mapped(const Manager& manager) {
  Bytes sum;
  for (const auto& tier : manager.statistics().tiers) sum += tier.used;
  return static_cast<double>(sum.count);
}

/// Allocations of random sizes, all powers of two equally likely, in order of age.
class LiveSet {
 public:
  LiveSet(std::pmr::memory_resource& resource, std::size_t least, std::size_t most, std::uint64_t seed)
      : resource_{resource}, random_{seed}, magnitude_{std::log2(least), std::log2(most)} {}
  ~LiveSet() { free_oldest(0); }
  LiveSet(const LiveSet&) = delete;
  LiveSet& operator=(const LiveSet&) = delete;

  [[nodiscard]] double bytes() const noexcept { return static_cast<double>(bytes_); }
  void grow(std::size_t count) {
    while (live_.size() < count) {
      const auto size = static_cast<std::size_t>(std::exp2(magnitude_(random_)));
      live_.push_back({resource_.allocate(size), size});
      bytes_ += size;
    }
  }
  /// Frees the oldest until `count` are left.
  void free_oldest(std::size_t count) {
    for (; live_.size() > count; live_.pop_front()) free(live_.front());
  }
  void free_any(std::size_t count) {
    std::vector<Allocation> kept;
    std::ranges::sample(live_, std::back_inserter(kept), static_cast<std::ptrdiff_t>(count), random_);
    auto next = kept.begin();
    for (const auto& a : live_)
      if (next != kept.end() && next->p == a.p)
        ++next;
      else
        free(a);
    live_.assign(kept.begin(), kept.end());
  }

 private:
  struct Allocation {
    void* p;
    std::size_t size;
  };
  void free(const Allocation& a) {
    resource_.deallocate(a.p, a.size);
    bytes_ -= a.size;
  }

  std::pmr::memory_resource& resource_;
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> magnitude_;
  std::deque<Allocation> live_;
  std::size_t bytes_ = 0;
};

}  // namespace

TEST_CASE("containers of five times the fast tier hold what they should, with no scope") {
  const test::TemporaryDirectory directory;
  const auto seed = test::seed();
  CAPTURE(seed);
  for (const auto& [slow, mode] : test::slow_tiers_and_modes()) {
    CAPTURE(std::string{slow.name});
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(1_MiB), slow.spec(directory.path(), 64_MiB)}, mode);
    {
      MigratingResource memory{manager};
      using Record = std::array<std::uint64_t, 128>;
      constexpr std::uint64_t keys = 100;
      std::pmr::unordered_map<std::uint64_t, std::pmr::vector<Record>> lists{&memory};
      std::mt19937_64 random{seed};
      std::uint64_t sum = 0;
      for (int i = 0; i < 5000; ++i) {
        Record record;
        record.fill(random());
        lists[record[0] % keys].push_back(record);
        sum += record[0];
      }
      CHECK(manager->statistics().tiers[1].used > 4_MiB);
      CHECK(manager->statistics().tiers[0].used <= 1_MiB);
      for (const auto& [key, list] : lists)
        for (const auto& record : list) {
          if (std::ranges::any_of(record, [&](auto word) { return word != record[0]; }) ||
              record[0] % keys != key)
            FAIL("a record is not as it was stored");
          sum -= record[0];
        }
      CHECK(sum == 0);
      manager->check_invariants();
    }
    CHECK(test::eventually(
        [&] { return manager->statistics().tiers[0].used + manager->statistics().tiers[1].used == 0_B; }));
  }
}

TEST_CASE("containers do as those of std, while other threads move what they hold") {
  const test::TemporaryDirectory directory;
  const auto seed = test::seed();
  CAPTURE(seed);
  // In full mode all slow tiers together: restricted windows change tiers little, and as many steps come on top.
  const auto steps = test::steps(test::sanitized ? 100'000 : 300'000) / test::slow_tiers().size();
  for (const auto& [slow, mode] : test::slow_tiers_and_modes()) {
    CAPTURE(std::string{slow.name});
    CAPTURE(to_string(mode));
    const auto manager =
        make_manager({tiers::dram(8_MiB), slow.spec(directory.path(), 128_MiB)}, mode, {}, nullptr, 2_MiB);
    MigratingResource memory{manager};
    GroupResource group{memory};
    test::BothContainers in_memory{memory}, in_group{group};
    const std::array both{&in_memory, &in_group};
    {
      const test::Movers movers{memory, seed};
      test::step_and_compare(both, steps, seed);
      if (mode == WindowMode::Full)
        CHECK(test::step_until(both, seed, [&] { return test::has_moved_much(*manager); }));
    }
    manager->quiesce();
    manager->check_invariants();
  }
}

TEST_CASE("a scope on a container or its group brings what it holds, and keeps it there") {
  const test::TemporaryDirectory directory;
  for (const auto& [slow, mode] : test::slow_tiers_and_modes()) {
    CAPTURE(std::string{slow.name});
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(16_MiB), slow.spec(directory.path(), 64_MiB)}, mode);
    MigratingResource memory{manager};
    GroupResource group{memory};
    std::pmr::unordered_map<int, int> map{&group};
    std::pmr::vector<int> numbers(500'000, 7, &memory);
    for (int i = 0; i < 30'000; ++i) map[i] = i;
    migrate(memory, 1);
    CHECK(test::eventually([&] { return manager->statistics().tiers[0].used == 0_B; }));
    const auto faults = [&] { return manager->statistics().window_faults; };
    const auto before = faults();
    {
      const ReadScope hot{group};
      CHECK(std::ranges::all_of(map, [](const auto& entry) { return entry.first == entry.second; }));
      CHECK(faults() == before);
      migrate(group, 1);  // pinned by the scope
      CHECK(map.at(100) == 100);
      CHECK(faults() == before);
    }
    {
      const ReadScope in{numbers, map};
      CHECK(std::ranges::all_of(numbers, [](int i) { return i == 7; }));
      CHECK(faults() == before);
    }
    migrate(memory, 1);
    CHECK(prefetch(numbers) == Outcome::Done);
    manager->quiesce();
    CHECK(manager->statistics().tiers[0].used >= Bytes{numbers.size() * sizeof(int)});
    {
      WriteScope out{numbers};
      std::ranges::fill(numbers, 8);
    }
    migrate(numbers, 1);
    CHECK(std::ranges::all_of(numbers, [](int i) { return i == 8; }));
    manager->check_invariants();
  }
}

TEST_CASE("a scope on more than fits brings some of it and never throws") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(4_MiB), tiers::emulated("cxl", 64_MiB)}, mode);
    MigratingResource memory{manager};
    std::pmr::vector<std::pmr::vector<int>> lists{&memory};
    for (int i = 0; i < 1000; ++i) lists.emplace_back(5'000, i);
    {
      const ReadScope all{memory};
      for (int i = 0; i < 1000; ++i) CHECK(lists[static_cast<std::size_t>(i)].back() == i);
    }
    manager->check_invariants();
  }
}

TEST_CASE("an allocation of nearly all addresses takes none of them") {
  constexpr std::size_t all = std::size_t(-1);
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(4_MiB)}, mode);
    MigratingResource memory{manager};
    for (int i = 0; i < 100; ++i)  // more than the ranges of addresses with windows
      for (const std::size_t size : {all, all - (2_MiB).count, all / 2 + 1})
        CHECK(test::message_of<OutOfTierMemory>([&] { std::ignore = memory.allocate(size); }) ==
              "a window cannot have more bytes than there are addresses");
  }
}

TEST_CASE("objects are found by any address, and empty ones go at once") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(32_MiB)}, mode);
    MigratingResource memory{manager, "index"};
    {
      std::pmr::vector<std::uint64_t> large(1'000'000, &memory);
      std::pmr::string small(100, 'x', &memory);
      CHECK(object_of(&large.back()).object != nullptr);
      CHECK(object_of(&large.back()) == object_of(&large.front()));
      CHECK(object_of(&small[50]).object != nullptr);
      CHECK_FALSE(object_of(&small[50]) == object_of(&large.front()));
      CHECK(object_of(&large.back()).object->name == "index");
    }
    CHECK(manager->statistics().tiers[0].used <= 64_KiB);  // one empty segment is kept
    memory.release();
    CHECK(test::eventually([&] { return manager->statistics().tiers[0].used == 0_B; }));
  }
}

TEST_CASE(
    "space returns to the tiers: after many random frees what is mapped is at most 1.25 of what lives") {
  struct Sizes {
    const char* name;
    std::size_t least, most;  // all powers of two equally likely
    std::size_t live;
    std::uint64_t steps;
  };
  constexpr std::array all{Sizes{"16 B to 4 KiB", 16, 4 << 10, 40'000, 10'000'000},
                           Sizes{"16 B to 1 MiB", 16, 1 << 20, 500, 50'000},
                           Sizes{"32 to 128 KiB", 32 << 10, 128 << 10, 500, 50'000},
                           Sizes{"33 KiB", 33 << 10, 33 << 10, 500, 50'000}};
  for (const auto mode : test::window_modes())
    for (const auto& sizes : all) {
      CAPTURE(to_string(mode));
      CAPTURE(std::string{sizes.name});
      const auto seed = test::seed();
      CAPTURE(seed);
      const auto manager = make_manager({tiers::dram(64_MiB), tiers::emulated("cxl", 256_MiB)}, mode);
      MigratingResource memory{manager};
      std::mt19937_64 random{seed};
      std::uniform_real_distribution<double> magnitude{std::log2(sizes.least), std::log2(sizes.most)};
      struct Allocation {
        void* p;
        std::size_t size;
      };
      const auto run = [&] {
        std::vector<Allocation> live;
        std::uint64_t bytes = 0;
        const auto allocate = [&] {
          const auto size = static_cast<std::size_t>(std::exp2(magnitude(random)));
          bytes += size;
          return Allocation{memory.allocate(size), size};
        };
        for (std::size_t i = 0; i < sizes.live; ++i) live.push_back(allocate());
        for (std::uint64_t i = 0; i < test::steps(sizes.steps / (test::sanitized ? 10 : 1)); ++i) {
          auto& one = live[random() % live.size()];
          bytes -= one.size;
          memory.deallocate(one.p, one.size);
          one = allocate();
        }
        const auto statistics = manager->statistics();
        const auto mapped = statistics.tiers[0].used + statistics.tiers[1].used;
        const double ratio = static_cast<double>(mapped.count) / static_cast<double>(bytes);
        MESSAGE(std::string{sizes.name} << ": mapped / live " << ratio);
        CHECK(ratio <= 1.25);
        for (const auto& one : live) memory.deallocate(one.p, one.size);
      };
      std::jthread{run}.join();  // its cache ends with the thread
      CHECK(manager->statistics().tiers[0].used <= 64_KiB);
    }
}

TEST_CASE("what is left of a shrinking live set serves again when it grows, and all returns in the end") {
  struct Sizes {
    std::size_t least, most, count;
  };
  for (const auto mode : test::window_modes())
    for (const bool in_group : {false, true})
      for (const auto& sizes : {Sizes{16, 4 << 10, 40'000}, Sizes{40 << 10, 256 << 10, 300}}) {
        CAPTURE(to_string(mode));
        CAPTURE(in_group);
        CAPTURE(sizes.most);
        const auto seed = test::seed();
        CAPTURE(seed);
        const auto manager = make_manager({tiers::dram(64_MiB), tiers::emulated("cxl", 256_MiB)}, mode);
        MigratingResource memory{manager};
        GroupResource group{memory};
        const auto run = [&] {
          LiveSet live{in_group ? static_cast<std::pmr::memory_resource&>(group) : memory, sizes.least,
                       sizes.most, seed};
          for (int cycle = 0; cycle < 4; ++cycle) {
            live.grow(sizes.count);
            const auto full = mapped(*manager);
            CHECK(full <= live.bytes() * 1.25);
            cycle % 2 == 0 ? live.free_any(sizes.count / 8) : live.free_oldest(sizes.count / 8);
            MESSAGE("mapped / live, of an eighth: " << mapped(*manager) / live.bytes());
            // If random small ones remain, most slabs stay in use; if the youngest remain, which lie together, few have to.
            CHECK(mapped(*manager) <= (cycle % 2 == 0 ? full : full / 2));
            if (sizes.least > (32_KiB).count) CHECK(mapped(*manager) <= live.bytes() * 1.25);
          }
        };
        std::jthread{run}.join();                                         // its caches end with the thread
        CHECK(mapped(*manager) <= static_cast<double>((128_KiB).count));  // an empty slab of either
      }
}

}  // namespace tier::migrating_resource_test
