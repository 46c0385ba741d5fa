// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The parts that say what there is and where it lies: regions, the catalog, the room that is kept, blocks.
#include <doctest/doctest.h>

#include <system_error>
#include <tuple>
#include <vector>

#include "manager/floors.hpp"

namespace tier::store_parts_test {

using namespace tier::test;
using namespace tier::literals;

TEST_SUITE("manager") {
  TEST_CASE("regions are given out, merge when they are freed, and wait for who reads them") {
    Floors floors{{fast_tier(1_MiB)}};
    auto& regions = floors.store.regions;
    const auto& heap = floors.store.tiers[0].heap;
    std::error_code cause;
    Region* a = regions.allocate(0, 512 << 10, 64, cause);
    Region* b = regions.allocate(0, 512 << 10, 64, cause);
    REQUIRE(a != nullptr);
    REQUIRE(b != nullptr);
    CHECK(regions.allocate(0, 64, 64, cause) == nullptr);
    CHECK_FALSE(cause);  // the tier is full: no system call has failed
    ++a->readers;
    regions.free(a);  // a device still reads it
    CHECK(heap.used() == 1_MiB);
    floors.store.blocks.stop_reading(a);
    CHECK(heap.used() == 512_KiB);
    regions.free(b);
    CHECK(heap.largest_free() == 1_MiB);
    CHECK(floors.store.tiers[0].high_water == (1 << 20));
  }

  TEST_CASE("space is asked for without the lock, and a refusal frees the region") {
    auto options = slow_tier(1_MiB, true);
    options.reserves = true;
    Floors floors{{fast_tier(1_MiB), options}};
    auto& regions = floors.store.regions;
    std::error_code cause;
    Region* region = regions.allocate(1, 4096, 64, cause);
    REQUIRE(region != nullptr);
    CHECK_FALSE(region->has_space);
    floors.tier(1).reserve_fails = [](std::uint64_t, std::uint64_t) {
      return std::make_error_code(std::errc::no_space_on_device);
    };
    MutexLock lock{floors.mutex};
    CHECK_FALSE(regions.take_space(region, cause, lock));
    CHECK(region == nullptr);
    CHECK(cause == std::errc::no_space_on_device);
    CHECK(floors.store.tiers[1].heap.used() == Bytes{});
    floors.tier(1).reserve_fails = nullptr;
    region = regions.allocate(1, 4096, 64, cause);
    CHECK(regions.take_space(region, cause, lock));
    CHECK(region->has_space);
  }

  TEST_CASE("blocks are found by their ids, which are never used again") {
    Floors floors{{fast_tier(1_MiB)}};
    auto& catalog = floors.store.catalog;
    Block& first = floors.store.blocks.add(100, 64);
    const auto id = first.id;
    CHECK(catalog.find(id) == &first);
    Object& object = catalog.add_object(first, 0, 100, "a name");
    CHECK(name_of(first) == "a name");
    CHECK(catalog.objects().size() == 1);
    catalog.erase(object);
    floors.store.blocks.recycle(first);
    CHECK(catalog.find(id) == nullptr);
    CHECK(floors.store.blocks.add(100, 64).id > id);
  }

  TEST_CASE("a new primary leaves a current copy behind, until the next write") {
    Floors floors{{fast_tier(1_MiB), slow_tier(1_MiB, true)}};
    auto& store = floors.store;
    Block& b = floors.make(1, 4096, 'x');
    CHECK(b.address.load() == store.tiers.home(*b.record->primary()));
    CHECK(b.state.glance().is_outside());
    std::error_code cause;
    store.blocks.set_primary(b, store.regions.allocate(0, 4096, 64, cause));
    CHECK(Floors::tier_of(b) == 0);
    CHECK_FALSE(b.state.glance().is_outside());
    CHECK(facts(b).current_copies == 0b11);
    CHECK_FALSE(dirty(b));
    Floors::write(b, 'y');
    CHECK(facts(b).current_copies == 0b01);
    CHECK(dirty(b));
    CHECK(store.regions.drop_a_secondary(1));
    CHECK_FALSE(store.regions.drop_a_secondary(1));
    CHECK(store.tiers[1].heap.used() == Bytes{});
  }

  TEST_CASE("the bytes of a dead block go with its last pin") {
    Floors floors{{fast_tier(1_MiB)}};
    auto& blocks = floors.store.blocks;
    Block& b = floors.make(0, 4096);
    b.state.pin_anyway();
    b.state.await_last_pin();
    blocks.mark_dead(b);
    CHECK(floors.store.tiers[0].heap.used() == 4_KiB);
    blocks.leave(b);
    CHECK(floors.store.tiers[0].heap.used() == Bytes{});
    CHECK(b.record->primary() == nullptr);
    CHECK(floors.store.reserve.living() == 0);
  }

  TEST_CASE("garbage is freed when the slowest tier is nearly full, and not before") {
    Floors floors{{fast_tier(100_KiB)}};
    auto& blocks = floors.store.blocks;
    for (int i = 0; i < 19; ++i) blocks.become_garbage(floors.make(0, 4096));
    blocks.reclaim_if_full();
    CHECK(blocks.has_garbage());
    for (int i = 0; i < 4; ++i) floors.make(0, 4096);
    blocks.reclaim_if_full();
    CHECK_FALSE(blocks.has_garbage());
    CHECK(floors.store.tiers[0].heap.used() == 16_KiB);
  }

  TEST_CASE(
      "room is kept for the largest block, once the CPU cannot reach some tier and not all fits the "
      "fastest") {
    Floors floors{{fast_tier(1_MiB), slow_tier(1_MiB, false)}};
    auto& reserve = floors.store.reserve;
    constexpr std::uint64_t block = 256 << 10;
    std::error_code cause;
    REQUIRE(reserve.is_needed());
    for (int i = 0; i < 4; ++i) floors.make(0, block);
    // 2 MiB in all: with one block's room kept, three more blocks fit.
    CHECK(reserve.can_admit(3 * block, block, cause));
    CHECK_FALSE(reserve.can_admit(4 * block, block, cause));
    const FaultReserve::Promise promise{reserve, block};
    CHECK_FALSE(reserve.can_admit(3 * block, block, cause));
    CHECK(reserve.can_admit(2 * block, block, cause));
    CHECK_FALSE(reserve.can_admit(2 * block, 2 * block, cause));  // blocks of two sizes: twice the larger one
  }

  TEST_CASE("what is placed in the fastest tier leaves room for the largest block") {
    Floors floors{{fast_tier(1_MiB), slow_tier(4_MiB, false)}};
    auto& reserve = floors.store.reserve;
    floors.make(0, 600 << 10);
    CHECK(reserve.fits_beside_placed());
    {
      const FaultReserve::PromiseToStay stays{reserve, 0, 500 << 10};
      CHECK_FALSE(reserve.fits_beside_placed());
    }
    CHECK(reserve.fits_beside_placed());
    CHECK(reserve.placed(0) == 0);
  }

  TEST_CASE("a single tier keeps no room") {
    Floors floors{{fast_tier(1_MiB)}};
    std::error_code cause;
    floors.make(0, 1 << 20);
    CHECK_FALSE(floors.store.reserve.is_needed());
    CHECK(floors.store.reserve.can_admit(1 << 20, 1 << 20, cause));
    CHECK(floors.store.reserve.limit(0) == (1 << 20));
  }

  TEST_CASE("blocks of windows are a 32nd of the fastest tier, or what was asked for") {
    CHECK(WindowPages::largest_block({}, 64_MiB) == (2 << 20));
    CHECK(WindowPages::largest_block({}, 4_MiB) == (128 << 10));
    CHECK(WindowPages::largest_block({}, 1_MiB) == (64 << 10));
    CHECK(WindowPages::largest_block(1_MiB, 1_MiB) == (1 << 20));
    CHECK_THROWS_AS(std::ignore = WindowPages::largest_block(3_MiB, 64_MiB), ConfigError);
  }
}

}  // namespace tier::store_parts_test
