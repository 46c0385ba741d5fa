// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  After any allocation fails, windows are unchanged: nothing is lost, nothing is left over.
#include <doctest/doctest.h>
#include <tier/pmr/arena_resource.hpp>
#include <tier/pmr/container_scopes.hpp>
#include <tier/pmr/group_resource.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/pmr/placed_resource.hpp>
#include <tier/scope/hints.hpp>
#include <tier/scope/scope.hpp>

#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "failing_allocation.hpp"
#include "window_rig.hpp"

namespace tier::window_allocation_test {

using namespace tier::literals;
using namespace tier::test;

namespace {

using Operation = std::function<void(WindowRig&)>;

/// Returns window shapes whose blocks come through a device, or stay in place.
std::vector<WindowShape> window_shapes() {
  std::vector<WindowShape> all;
  for (const auto mode : window_modes()) all.push_back({mode, true});
  if (thread_sanitized) all.resize(1);  // takes minutes, with the same threads
  return all;
}

/// Runs `operation` on each shape of windows, fresh each time.   \return  how many allocations failed
std::uint64_t points_reached(const Operation& operation, std::size_t objects = 3) {
  std::uint64_t points = 0;
  for (const auto& shape : window_shapes()) {
    CAPTURE(to_string(shape.mode));
    CAPTURE(shape.slow_is_device);
    std::optional<WindowRig> rig;
    points += for_each_failing_allocation(
        [&](std::uint64_t n) {
          rig.emplace(shape, objects);
          const FailingAllocation failing{n};
          operation(*rig);
          rig->manager()->quiesce();
        },
        [&](bool) {
          REQUIRE_NOTHROW(rig->check());
          REQUIRE_NOTHROW(rig->check_empty());
        });
  }
  MESSAGE(points << " points");
  return points;
}

/// Owns an allocation.
class Allocation {
 public:
  Allocation(std::pmr::memory_resource& from, std::size_t size)
      : from_{from}, p_{from.allocate(size)}, size_{size} {
    std::memset(p_, 1, size);
  }
  ~Allocation() { from_.deallocate(p_, size_); }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

 private:
  std::pmr::memory_resource& from_;
  void* p_;
  std::size_t size_;
};

/// Makes small and large allocations and containers, and opens scopes on old and new ones.
template <class Resource>
void use(Resource& memory) {
  const Allocation small{memory, 100}, large{memory, 100'000};
  {
    const ReadScope scope{memory};
    const Allocation covered{memory, 70'000}, covered_too{memory, 20'000};
  }
  std::pmr::map<int, std::pmr::string> words{&memory};
  for (int i = 0; i < 5; ++i) words.emplace(i, "a word of more letters than fit into a string");
  std::pmr::vector<int> numbers(20'000, 7, &memory);
  numbers.resize(40'000);
  const WriteScope scope{numbers};
}

}  // namespace

TEST_CASE("a manager without windows makes its first one, whichever allocation fails, or throws") {
  CHECK(points_reached(
            [](WindowRig& rig) {
              std::ignore = rig.manager()->create_window(5 * rig.block(), 64, "a name of some length");
            },
            0) > 20);
}

TEST_CASE("windows that cannot be made or grow leave nothing behind, whichever allocation fails") {
  SUBCASE("made") {
    CHECK(points_reached([](WindowRig& rig) {
            std::ignore = rig.manager()->create_window(6 * rig.block(), 64, "a name of some length");
          }) > 20);
  }
  SUBCASE("made where another was") {
    CHECK(points_reached([](WindowRig& rig) {
            for (int i = 0; i < 2; ++i)
              std::ignore = rig.manager()->create_window(6 * rig.block(), 64, "a name of some length");
          }) > 40);
  }
  SUBCASE("grown") {
    CHECK(points_reached([](WindowRig& rig) {
            const auto handle = rig.manager()->reserve_window(6 * rig.block(), 64, "a name of some length");
            std::memset(handle.ref().object->window, 3, rig.block().count);
            const auto blocks = rig.manager()->statistics().blocks;
            try {
              rig.manager()->grow(handle.ref(), 6 * rig.block());
            } catch (...) {
              rig.manager()->quiesce();
              CHECK(handle.ref().object->size == rig.block().count);
              CHECK(handle.ref().object->blocks.size() == 1);
              CHECK(handle.ref().object->window[rig.block().count - 1] == std::byte{3});
              CHECK(rig.manager()->statistics().blocks == blocks);
              throw;
            }
          }) > 20);
  }
}

TEST_CASE("blocks of windows that move, are touched and retired lose nothing, whichever allocation fails") {
  SUBCASE("moved") {
    CHECK(points_reached([](WindowRig& rig) {
            for (const TierIndex to : {TierIndex{1}, TierIndex{0}, TierIndex{1}})
              rig.manager()->migrate(rig.blocks(1), to);
          }) > 10);
  }
  SUBCASE("touched") {
    CHECK(points_reached([](WindowRig& rig) {
            for (std::size_t i = 0; i < 3; ++i) CHECK(rig.holds(i));
            rig.store_all(0, 9);
          }) > 2);
  }
  SUBCASE("retired and revived") {
    CHECK(points_reached([](WindowRig& rig) {
            const auto id = rig.blocks(1)[1];
            rig.manager()->retire(id);
            for (int tries = 0;; ++tries) {
              try {
                rig.manager()->revive(id);
                break;
              } catch (const std::bad_alloc&) {
                if (tries > 0) throw;
              }
            }
            rig.store_all(1, 7);
          }) > 0);
  }
  SUBCASE("brought by a scope") {
    CHECK(points_reached([](WindowRig& rig) {
            std::vector<Operand> batch;
            batch.reserve(9);
            for (std::size_t i = 0; i < 9; ++i)
              batch.push_back(Operand::advice_at(&rig.words(i / 3)[i % 3 * 8192], Use::Update));
            rig.manager()->enter(batch, {});
            Manager::leave(batch);
          }) > 0);
  }
}

TEST_CASE("memory resources have nothing left after their end, whichever allocation fails") {
  SUBCASE("group") {
    CHECK(points_reached([](WindowRig& rig) {
            MigratingResource memory{rig.manager(), "a name of some length"};
            GroupResource group{memory};
            use(group);
          }) > 50);
  }
  SUBCASE("arena") {
    CHECK(points_reached([](WindowRig& rig) {
            ArenaResource arena{rig.manager(), 1_MiB, {.name = "a name of some length"}};
            use(arena);
          }) > 50);
  }
  SUBCASE("placed") {
    CHECK(points_reached(
              [](WindowRig& rig) {
                PlacedResource memory{rig.manager(), 0};
                const Allocation small{memory, 100}, large{memory, 70'000};
              },
              0) > 8);
  }
  if (thread_sanitized) return;  // takes a minute, and does what the others do
  SUBCASE("migrating") {
    CHECK(points_reached([](WindowRig& rig) {
            MigratingResource memory{rig.manager(), "a name of some length"};
            use(memory);
          }) > 50);
  }
  SUBCASE("monotonic arena") {
    CHECK(points_reached([](WindowRig& rig) {
            ArenaResource arena{rig.manager(), 2_MiB, {.name = "a name of some length", .monotonic = true}};
            use(arena);
          }) > 50);
  }
}

}  // namespace tier::window_allocation_test
