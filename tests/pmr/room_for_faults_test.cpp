// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Faults find room even if the tiers are full.
#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/pmr/group_resource.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/pmr/placed_resource.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <atomic>
#include <cstring>
#include <deque>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "pmr/slow_tiers.hpp"
#include "support/child.hpp"
#include "support/eventually.hpp"
#include "support/filling_lists.hpp"
#include "support/sanitized.hpp"
#include "support/seed.hpp"
#include "support/temporary_directory.hpp"
#include "support/test_manager.hpp"
#include "support/windows.hpp"

namespace tier::room_for_faults_test {
namespace {

using namespace literals;
using test::make_manager;

using Words = std::pmr::vector<std::uint64_t>;

std::size_t words(Bytes size) { return size.count / sizeof(std::uint64_t); }

/// Adds lists of this size until there is no room.
std::size_t fill(std::deque<Words>& lists, MigratingResource& memory, Bytes size) {
  const auto before = lists.size();
  try {
    for (;;) lists.emplace_back(words(size), lists.size(), &memory);
  } catch (const OutOfTierMemory&) {
    return lists.size() - before;
  }
}

void check_and_rewrite(std::deque<Words>& lists) {
  for (auto& list : lists) {
    const auto stored = list.front();
    if (std::ranges::count(list, stored) != static_cast<std::ptrdiff_t>(list.size()))
      FAIL("a list is not as it was stored");
    std::ranges::fill(list, stored + 1);
  }
}

}  // namespace

TEST_CASE("containers that fill all tiers can be read and written still, and go on when something is freed") {
  const test::TemporaryDirectory directory;
  const auto seed = test::seed();
  CAPTURE(seed);
  const bool half = test::sanitized && !test::long_form();  // of what follows; another seed takes the rest
  std::uint64_t turn = seed;
  for (const auto& [slow, mode] : test::slow_tiers_and_modes())
    for (const std::size_t most : {4'000, 30'000}) {  // in slabs, and as allocations of their own
      if (half && ++turn % 2 == 0) continue;
      CAPTURE(std::string{slow.name});
      CAPTURE(to_string(mode));
      CAPTURE(most);
      const auto manager = make_manager({tiers::dram(2_MiB), slow.spec(directory.path(), 6_MiB)}, mode);
      {
        MigratingResource memory{manager};
        test::FillingLists lists{memory, most, seed};
        CHECK(lists.fill().bytes >= (5_MiB).count);
        for (int round = 0; round < (test::sanitized ? 1 : 3); ++round) {
          lists.read_and_write();
          manager->check_invariants();
          lists.free_half();
          CHECK(lists.fill().bytes >= (1_MiB).count);
        }
      }
      CHECK(test::eventually(
          [&] { return manager->statistics().tiers[0].used + manager->statistics().tiers[1].used == 0_B; }));
    }
}

TEST_CASE("blocks of huge pages find room among others that leave no huge page free") {
  if (!test::has_windows()) return;
  const test::TemporaryDirectory directory;
  const auto manager = make_manager({tiers::dram(16_MiB), tiers::file(directory.path(), 32_MiB)}, {}, 2_MiB);
  {
    MigratingResource memory{manager};
    std::deque<Words> lists;
    CHECK(fill(lists, memory, 3_MiB + 4_KiB) >= 13);  // blocks of 2 MiB, and of 1 MiB and a page
    for (int round = 0; round < 2; ++round) {
      check_and_rewrite(lists);
      manager->check_invariants();
      for (int i = 0; i < 2; ++i) lists.pop_front();
      CHECK(fill(lists, memory, 1_MiB + 4_KiB) >= 4);
    }
  }
  CHECK(test::eventually(
      [&] { return manager->statistics().tiers[0].used + manager->statistics().tiers[1].used == 0_B; }));
}

TEST_CASE("windows find room between what others left, if it has to be brought together") {
  if (!test::has_windows()) return;
  const test::TemporaryDirectory directory;
  const auto manager = make_manager({tiers::dram(64_MiB), tiers::file(directory.path(), 64_MiB)});
  std::deque<ObjectHandle> objects;
  for (int i = 0; i < 127; ++i) objects.push_back(manager->create(1_MiB, 64, "small"));
  for (std::size_t i = 1; i < objects.size(); ++i)
    objects.erase(objects.begin() + static_cast<std::ptrdiff_t>(i));
  MigratingResource memory{manager};
  std::deque<Words> lists;
  CHECK(fill(lists, memory, 4_MiB) >= 12);
  check_and_rewrite(lists);
  lists.pop_front();
  CHECK_NOTHROW(std::ignore = manager->create(64_B, 64, "tiny"));
  manager->check_invariants();
}

TEST_CASE("a tier that is smaller than a block of a window keeps nothing for them") {
  if (!test::has_windows()) return;
  const test::TemporaryDirectory directory;
  const auto manager = make_manager({tiers::dram(64_MiB), tiers::file(directory.path(), 1_MiB)});
  MigratingResource memory{manager};
  std::deque<Words> lists;
  CHECK(fill(lists, memory, 4_MiB) >= 10);
  check_and_rewrite(lists);
}

TEST_CASE("what stays in the fastest tier leaves room for what is brought") {
  if (!test::has_windows()) return;
  const test::TemporaryDirectory directory;
  for (const bool first : {true, false}) {
    CAPTURE(first);
    const auto manager = make_manager({tiers::dram(4_MiB), tiers::file(directory.path(), 16_MiB)});
    MigratingResource memory{manager};
    PlacedResource placed{manager, 0};
    std::deque<Words> lists;
    std::deque<Words> stay;
    const auto place = [&] {
      try {
        for (;;) stay.emplace_back(words(300_KiB), 1, &placed);
      } catch (const OutOfTierMemory&) {
      }
    };
    if (first) place();
    CHECK(fill(lists, memory, 100_KiB) >= 100);
    place();
    check_and_rewrite(lists);
    for (const auto& list : stay)
      CHECK(std::accumulate(list.begin(), list.end(), std::size_t{0}) == list.size());
    manager->check_invariants();
  }
}

namespace {

/// Keeps large lists, and small ones that are scattered over the fastest tier between other objects.
struct Scattered {
  test::TemporaryDirectory directory;
  std::shared_ptr<Manager> manager =
      make_manager({tiers::dram(64_MiB), tiers::file(directory.path(), 256_MiB)});
  MigratingResource memory{manager};
  GroupResource advised{memory};
  PlacedResource placed{manager, 0};
  std::deque<Words> large, small, stay;

  template <class Add>
  explicit Scattered(Add add) {
    for (std::uint64_t i = 0; i < 3; ++i) large.emplace_back(words(8_MiB), i, &memory);
    for (std::uint64_t i = 0; i < 540; ++i) {  // until nothing else is in the tier
      small.emplace_back(words(64_KiB), i, &memory);
      add(*this, 60_KiB);
    }
  }
  [[nodiscard]] std::size_t pinned() const {
    const auto objects = manager->object_statistics();
    return static_cast<std::size_t>(std::ranges::count_if(objects, &ObjectStatistics::pinned));
  }
  void use() {
    for (int round = 0; round < 3; ++round) {
      check_and_rewrite(large);
      check_and_rewrite(small);
    }
    manager->check_invariants();
  }
};

}  // namespace

TEST_CASE("what advice pins, scattered over the fastest tier, leaves room for large blocks") {
  if (!test::has_windows()) return;
  Scattered lists{
      [](Scattered& all, Bytes size) { all.stay.emplace_back(words(size), all.stay.size(), &all.advised); }};
  {
    const ReadScope keep{lists.advised};
    CHECK(lists.pinned() >= 400);
    lists.use();
  }
  check_and_rewrite(lists.stay);
}

TEST_CASE("what is placed, scattered over the fastest tier, leaves room for large blocks") {
  if (!test::has_windows()) return;
  Scattered lists{
      [](Scattered& all, Bytes size) { all.stay.emplace_back(words(size), all.stay.size(), &all.placed); }};
  lists.use();
  check_and_rewrite(lists.stay);
}

TEST_CASE("what scopes pin, scattered over the fastest tier, leaves room for large blocks") {
  if (!test::has_windows()) return;
  std::deque<Tensor<char>> tensors;
  std::vector<Tensor<char>*> all;
  Scattered lists{[&](Scattered& self, Bytes size) {
    all.push_back(&tensors.emplace_back(self.manager, Shape{size.count}));
  }};
  const WriteScope keep{overwrites(all)};
  CHECK(lists.pinned() == all.size());
  lists.use();
}

TEST_CASE("what is retired and overwritten leaves room for what is brought") {
  if (!test::has_windows()) return;
  const test::TemporaryDirectory directory;
  const auto manager = make_manager({tiers::dram(4_MiB), tiers::file(directory.path(), 16_MiB)});
  std::deque<Tensor<float>> tensors;
  for (int i = 0; i < 8; ++i) tensors.emplace_back(manager, Shape{(64_KiB).count / sizeof(float)});
  for (auto& tensor : tensors) retire(tensor);
  MigratingResource memory{manager};
  std::deque<Words> lists;
  CHECK(fill(lists, memory, 100_KiB) >= 180);
  int refused = 0;
  for (auto& tensor : tensors) try {
      const WriteScope out{overwrites(tensor)};
    } catch (const OutOfTierMemory&) {
      ++refused;
    }
  CHECK(refused >= 6);  // the rest may be smaller than a list
  check_and_rewrite(lists);
  lists.resize(lists.size() / 2);
  for (auto& tensor : tensors) CHECK_NOTHROW(std::ignore = WriteScope{overwrites(tensor)});
  check_and_rewrite(lists);
  manager->check_invariants();
}

TEST_CASE("what is large and may stand in the way is not allocated where it could not go aside") {
  if (!test::has_windows()) return;
  const test::TemporaryDirectory directory;
  const auto manager = make_manager({tiers::dram(64_MiB), tiers::file(directory.path(), 64_MiB)});
  MigratingResource memory{manager};
  std::deque<Words> lists;
  for (std::uint64_t i = 0; i < 6; ++i) lists.emplace_back(words(2_MiB), i, &memory);
  const Shape large{(60_MiB).count};
  CHECK_THROWS_AS(Tensor<char>(manager, large), OutOfTierMemory);
  {
    Tensor<char> smaller{manager, Shape{(50_MiB).count}};
    const WriteScope out{overwrites(smaller)};
    check_and_rewrite(lists);
  }
  CHECK_NOTHROW(lists.emplace_back(words(40_MiB), 1, &memory));  // the tensor no longer counts
  check_and_rewrite(lists);
}

TEST_CASE("accesses without room say so, let others pass, and go on when there is some") {
  if (!test::has_windows()) return;
  const auto ended = test::run_in_child("waits", [] {
    const test::TemporaryDirectory directory;
    Runtime runtime{{.tiers = {tiers::dram(64_MiB), tiers::file(directory.path(), 128_MiB)},
                     .report_waits_after = std::chrono::milliseconds{200}}};
    MigratingResource memory{runtime};
    std::vector<Words> large;
    for (std::uint64_t i = 0; i < 6; ++i) large.emplace_back(words(2_MiB), i, &memory);
    Words small(words(100_KiB), 7, &memory);
    migrate(memory, 1);
    runtime.manager()->quiesce();
    Tensor<char> all{runtime, Shape{(63_MiB).count}};
    std::optional<Scope> pins{WriteScope{overwrites(all)}};
    std::atomic<int> done = 0;
    std::vector<std::thread> waiting;
    for (std::size_t i = 0; i < large.size(); ++i)
      waiting.emplace_back([&, i] { done += large[i].back() == i ? 1 : 100; });
    std::this_thread::sleep_for(std::chrono::milliseconds{600});
    bool good = done == 0;
    good &= small.back() == 7;  // there is room for it
    good &= done == 0;
    pins.reset();
    for (auto& thread : waiting) thread.join();
    std::fputs(good && done == 6 ? "good" : "bad", stderr);
  });
  CAPTURE(ended.errors);
  CHECK(ended.code == 0);
  CHECK(ended.errors.find("libtier: an access to ") != std::string::npos);
  CHECK(ended.errors.find(" has waited long: ") != std::string::npos);
  CHECK(ended.errors.ends_with("good"));
}

}  // namespace tier::room_for_faults_test
