// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The parts that move bytes and make room.
#include <doctest/doctest.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "manager/floors.hpp"
#include "manager/movement/overlapping_slide.hpp"

namespace tier::movement_parts_test {

using namespace tier::test;
using namespace tier::literals;

namespace {

constexpr std::uint64_t quarter = 256 << 10;

/// Begins a fetch of the block to the fastest tier, and returns its transfer, which is not run yet.
Transfer& begin_fetch(Floors& floors, Block& b) {
  std::error_code cause;
  REQUIRE(start_moving(b));
  Region* const to = floors.store.regions.allocate(0, b.size, 64, cause);
  Transfer* const t = floors.movement.transfers.begin(b, TransferKind::Fetch, to, Cause::Miss);
  REQUIRE(t != nullptr);
  return *t;
}

/// Bytes of a tier that are to move to a place that overlaps theirs.
struct BytesToSlide {
  static constexpr std::uint64_t from = 1 << 20, to = 4096, size = 3 << 20;
  MemoryTier tier{slow_tier(8_MiB, true)};
  std::vector<std::byte> written = std::vector<std::byte>(size);

  BytesToSlide() {
    for (std::size_t i = 0; i < size; ++i) written[i] = std::byte(i / 4096);
    IoRequest request{from, written.data(), size};
    tier.transfer(Direction::Write, {&request, 1});
  }
  bool are_at(std::uint64_t offset) {
    std::vector<std::byte> read(size);
    IoRequest request{offset, read.data(), size};
    tier.transfer(Direction::Read, {&request, 1});
    return read == written;
  }
};

bool all_are(const Block& b, char value) {
  return std::all_of(b.address.load(), b.address.load() + b.size,
                     [&](std::byte x) { return x == std::byte(value); });
}

}  // namespace

TEST_SUITE("manager") {
  TEST_CASE("a copy is published if its block has not changed") {
    Floors floors{{fast_tier(1_MiB), slow_tier(1_MiB, true)}};
    Block& b = floors.make(1, 4096, 'x');
    CopyTask* task = &begin_fetch(floors, b);
    CHECK(b.state.now().is_moving());
    CHECK_FALSE(floors.movement.transfers.is_idle());
    floors.engine.run({&task, 1});
    CHECK(floors.movement.transfers.is_idle());
    CHECK_FALSE(b.state.now().is_moving());
    CHECK(Floors::tier_of(b) == 0);
    CHECK(all_are(b, 'x'));
    CHECK(b.record->fetches == 1);
  }

  TEST_CASE("a copy of bytes that were written meanwhile is not published") {
    Floors floors{{fast_tier(1_MiB), slow_tier(1_MiB, true)}};
    Block& b = floors.make(1, 4096, 'x');
    CopyTask* task = &begin_fetch(floors, b);
    Floors::write(b, 'y');
    floors.engine.run({&task, 1});
    CHECK(Floors::tier_of(b) == 1);
    CHECK(all_are(b, 'y'));
    CHECK(floors.store.tiers[0].heap.used() == Bytes{});
  }

  TEST_CASE("an orphaned transfer keeps its target to its end, and its block goes on without it") {
    Floors floors{{fast_tier(1_MiB), slow_tier(1_MiB, true)}};
    Block& b = floors.make(1, 4096, 'x');
    Transfer& t = begin_fetch(floors, b);
    floors.movement.transfers.orphan(t);
    CHECK_FALSE(b.state.now().is_moving());
    CHECK(floors.store.tiers[0].heap.used() == 4_KiB);
    CopyTask* task = &t;
    floors.engine.run({&task, 1});
    CHECK(Floors::tier_of(b) == 1);
    CHECK(floors.store.tiers[0].heap.used() == Bytes{});
  }

  TEST_CASE("a block that cannot be read says so, and stays where it is") {
    Floors floors{{fast_tier(1_MiB), slow_tier(1_MiB, true)}};
    Block& b = floors.make(1, 4096, 'x');
    floors.tier(1).fails = [](Direction direction, std::uint64_t, std::uint64_t) {
      return direction == Direction::Read ? std::make_error_code(std::errc::io_error) : std::error_code{};
    };
    CopyTask* task = &begin_fetch(floors, b);
    floors.engine.run({&task, 1});
    CHECK(b.state.now().has_failed());
    CHECK(Floors::tier_of(b) == 1);
  }

  TEST_CASE("the run that moves the fewest bytes goes around what is pinned") {
    Floors floors{{fast_tier(1_MiB), slow_tier(4_MiB, true)}};
    auto& finder = floors.movement.finder;
    std::vector<Block*> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(&floors.make(0, quarter));
    const Range half{2 * quarter, 64};
    blocks[1]->state.pin_anyway();
    const auto run = finder.scan(0, half);
    REQUIRE(run);
    REQUIRE(run->blocks.size() == 2);
    CHECK(run->blocks[0] == blocks[2]->record);
    CHECK(run->write_back == 2 * quarter);
    blocks[3]->state.pin_anyway();
    CHECK_FALSE(finder.scan(0, half));
    CHECK_FALSE(finder.propose(0, half, 0, false));
  }

  TEST_CASE("the policy chooses among runs around the coldest blocks") {
    Floors floors{{fast_tier(1_MiB), slow_tier(4_MiB, true)}};
    std::vector<Block*> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(&floors.make(0, quarter));
    std::size_t shown = 0;
    floors.policy->on_choose = [&](const RoomRequest&, std::span<const Run> runs, PolicyContext&) {
      CHECK(floors.movement.finder.is_choosing());
      shown = runs.size();
      return RunChoice{runs.size(), {}};  // none of them
    };
    const auto choice = floors.movement.finder.propose(0, {quarter, 64}, 0, false);
    CHECK_FALSE(floors.movement.finder.is_choosing());
    CHECK(shown == 4);
    REQUIRE(choice);
    CHECK(choice->forced);
    CHECK(choice->run.blocks.size() == 1);
  }

  TEST_CASE("room is made by evicting, and what leaves keeps its bytes") {
    Floors floors{{fast_tier(1_MiB), slow_tier(4_MiB, true)}};
    std::vector<Block*> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(&floors.make(0, quarter, static_cast<char>('a' + i)));
    MutexLock lock{floors.mutex};
    RoomReport report;
    Region* const room = floors.movement.evictor.make_room(0, {2 * quarter, 64}, 0, report, lock);
    REQUIRE(room != nullptr);
    CHECK(report.unlocked);
    CHECK(floors.state.counters.totals.evictions == 2);
    for (int i = 0; i < 4; ++i)
      CHECK(all_are(*blocks[static_cast<std::size_t>(i)], static_cast<char>('a' + i)));
    floors.store.regions.free(room);
  }

  TEST_CASE("where pins are in the way there is no room, and their last unpin will tell") {
    Floors floors{{fast_tier(1_MiB), slow_tier(4_MiB, true)}};
    Block& b = floors.make(0, 1 << 20);
    b.state.pin_anyway();
    MutexLock lock{floors.mutex};
    RoomReport report;
    CHECK(floors.movement.evictor.make_room(0, {quarter, 64}, 0, report, lock) == nullptr);
    CHECK(floors.movement.evictor.survey().foreign);
    CHECK(b.state.unpin().was_last_awaited());
  }

  TEST_CASE("compaction brings what is free together") {
    Floors floors{{fast_tier(1_MiB)}};
    std::vector<Block*> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(&floors.make(0, quarter, static_cast<char>('a' + i)));
    floors.store.blocks.mark_dead(*blocks[0]);
    floors.store.blocks.mark_dead(*blocks[2]);
    CHECK(floors.store.tiers[0].heap.largest_free().count == quarter);
    MutexLock lock{floors.mutex};
    CHECK(floors.movement.compactor.compact(0, Closeness::Preferred, lock));
    CHECK(floors.store.tiers[0].heap.largest_free().count == 2 * quarter);
    CHECK(all_are(*blocks[1], 'b'));
    CHECK(all_are(*blocks[3], 'd'));
  }

  TEST_CASE("a block slides over its own place where none is free") {
    BytesToSlide bytes;
    OverlappingSlide slide{bytes.tier, bytes.from, bytes.to, bytes.size};
    CHECK(slide.run());
    CHECK(bytes.are_at(bytes.to));
  }

  TEST_CASE("a slide that fails moves back what it has moved") {
    BytesToSlide bytes;
    int writes = 0;
    bytes.tier.fails = [&](Direction direction, std::uint64_t, std::uint64_t) {
      const bool third = direction == Direction::Write && ++writes == 3;
      return third ? std::make_error_code(std::errc::io_error) : std::error_code{};
    };
    OverlappingSlide slide{bytes.tier, bytes.from, bytes.to, bytes.size};
    CHECK_FALSE(slide.run());
    CHECK_FALSE(slide.is_lost());
    bytes.tier.fails = nullptr;
    CHECK(bytes.are_at(bytes.from));
  }

  TEST_CASE("a prefetch takes free room, and makes room only if it may") {
    Floors floors{{fast_tier(1_MiB), slow_tier(4_MiB, true)}};
    Block& b = floors.make(1, quarter, 'x');
    CHECK(floors.movement.prefetcher.begin(b, 0, false, Cause::Hint) == Outcome::Done);
    floors.finish();
    CHECK(Floors::tier_of(b) == 0);
    CHECK(floors.movement.prefetcher.begin(b, 0, false, Cause::Hint) == Outcome::Done);  // it is there
    for (int i = 0; i < 3; ++i) floors.make(0, quarter);
    Block& second = floors.make(1, quarter, 'y');
    CHECK(floors.movement.prefetcher.begin(second, 0, false, Cause::Hint) == Outcome::Full);
    {
      const MutexLock lock{floors.mutex};
      CHECK(floors.movement.prefetcher.begin(second, 0, true, Cause::Hint) == Outcome::Done);
    }
    floors.finish();
    CHECK(Floors::tier_of(second) == 0);
    CHECK(all_are(second, 'y'));
  }

  TEST_CASE("a policy's actions answer what has become of them") {
    Floors floors{{fast_tier(1_MiB), slow_tier(4_MiB, true)}};
    auto& actions = floors.movement.actions;
    Block& b = floors.make(0, quarter, 'x');
    CHECK(actions.copy(b.id, 1, When::Soon) == Outcome::Done);
    floors.finish();
    CHECK_FALSE(dirty(b));
    CHECK(actions.make_primary(b.id, 1) == Outcome::Done);
    CHECK(Floors::tier_of(b) == 1);
    CHECK(actions.drop(b.id, 0) == Outcome::Done);
    CHECK(actions.drop(b.id, 0) == Outcome::Gone);
    CHECK(actions.drop(b.id, 1) == Outcome::Pinned);  // the only copy
    actions.watch(b.id);
    CHECK(actions.fetch(b.id, 0, false) == Outcome::Done);
    CHECK(actions.end_watch() == Outcome::Done);
    floors.finish();
    CHECK(Floors::tier_of(b) == 0);
    CHECK(actions.evict(12345, 1) == Outcome::Gone);
  }
}

}  // namespace tier::movement_parts_test
