// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The parts that let the program in: places of new blocks, objects, entry.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

#include "manager/admission/gate.hpp"
#include "manager/admission/hints.hpp"
#include "manager/admission/migration.hpp"
#include "manager/admission/objects.hpp"
#include "manager/admission/place_finder.hpp"
#include "manager/floors.hpp"
#include "support/message_of.hpp"

namespace tier::admission_parts_test {

using namespace tier::test;
using namespace tier::literals;

namespace {

constexpr std::uint64_t quarter = 256 << 10;

/// The parts of admission that need no manager.
struct Admitting : Floors {
  using Floors::Floors;
  Hints hints{state, store, movement};
  PlaceFinder places{state, store, movement};
  Objects objects{state, store, movement, places};
  tier::Gate gate{state, store, movement, hints, places};

  Object& create(std::size_t size, std::string_view name) {
    MutexLock lock{mutex};
    return objects.create(size, 64, name, lock);
  }
  Operand enter(Object& object, Use use) {
    Operand op{object.block, nullptr, object.id, object.offset, object.size, use};
    gate.enter({&op, 1}, {.scope = 1});
    return op;
  }
};

}  // namespace

TEST_SUITE("manager") {
  TEST_CASE("a block begins where the policy says, or where there is room") {
    Admitting parts{{fast_tier(1_MiB), slow_tier(1_MiB, true)}};
    parts.policy->placement = {1, false};
    CHECK(Floors::tier_of(*parts.create(4096, "first").block) == 1);
    parts.policy->placement = {0, false};
    for (int i = 0; i < 4; ++i) CHECK(Floors::tier_of(*parts.create(quarter, "fast").block) == 0);
    CHECK(Floors::tier_of(*parts.create(quarter, "too much").block) == 1);
  }

  TEST_CASE("what does not fit anywhere is refused by name, and nothing has changed") {
    Admitting parts{{fast_tier(1_MiB)}};
    parts.create(3 * quarter, "first");
    const auto message = message_of([&] { parts.create(2 * quarter, "second"); });
    CHECK(message.find("second") != std::string::npos);
    CHECK(message.find("262144 free") != std::string::npos);
    CHECK(parts.store.catalog.objects().size() == 1);
    CHECK(parts.store.catalog.blocks().size() == 1);
  }

  TEST_CASE("a fixed block stays in its tier and counts as placed until it is destroyed") {
    Admitting parts{{fast_tier(1_MiB), slow_tier(4_MiB, true)}};
    Object* object = nullptr;
    {
      MutexLock lock{parts.mutex};
      object = &parts.objects.create_fixed(quarter, 64, 0, "fixed", lock);
      CHECK_THROWS_AS(std::ignore = parts.objects.create_fixed(2 << 20, 64, 0, "larger than its tier", lock),
                      OutOfTierMemory);
    }
    CHECK(parts.store.reserve.placed(0) == quarter);
    CHECK_FALSE(RunFinder::may_leave(object->block->record->primary()));
    const MutexLock lock{parts.mutex};
    parts.objects.destroy(*object);
    CHECK(parts.store.reserve.placed(0) == 0);
    CHECK(parts.store.catalog.blocks().empty());
  }

  TEST_CASE("entry brings a block, pins it, and makes others leave") {
    Admitting parts{{fast_tier(1_MiB), slow_tier(4_MiB, false)}};
    std::vector<Object*> objects;
    for (int i = 0; i < 6; ++i) {
      objects.push_back(&parts.create(quarter, "object"));
      const auto op = parts.enter(*objects.back(), Use::Overwrite);
      std::memset(op.address, 'a' + i, op.size);
      Manager::leave(op);
    }
    for (int i = 0; i < 6; ++i) {
      const auto op = parts.enter(*objects[static_cast<std::size_t>(i)], Use::Read);
      CHECK(op.block->pins() == 1);
      CHECK(Rig::all_are(op, static_cast<char>('a' + i)));
      Manager::leave(op);
    }
  }

  TEST_CASE("a batch enters all of its operands or none") {
    Admitting parts{{fast_tier(1_MiB), slow_tier(4_MiB, false)}};
    std::vector<Operand> batch;
    for (int i = 0; i < 6; ++i) {
      Object& object = parts.create(quarter, "object");
      batch.push_back({object.block, nullptr, object.id, 0, object.size, Use::Read});
    }
    CHECK_THROWS_AS(parts.gate.enter(batch, {.scope = 1}), OutOfTierMemory);
    for (const auto& op : batch) {
      CHECK_FALSE(op.entered);
      CHECK(op.block->pins() == 0);
    }
  }

  TEST_CASE("two operands on one block share its room") {
    Admitting parts{{fast_tier(1_MiB), slow_tier(4_MiB, false)}};
    Object& object = parts.create(3 * quarter, "object");
    parts.create(3 * quarter, "other");  // the first one leaves
    Operand first{object.block, nullptr, object.id, 0, object.size, Use::Read};
    std::vector<Operand> batch{first, first};
    batch[1].use = Use::Overwrite;  // its bytes are also read: they are fetched
    parts.gate.enter(batch, {.scope = 1});
    CHECK(object.block->pins() == 2);
    CHECK(batch[0].address == batch[1].address);
    Manager::leave(batch);
  }

  TEST_CASE("a retired object cannot be read, and has a place again once it is overwritten") {
    Admitting parts{{fast_tier(1_MiB)}};
    Object& object = parts.create(quarter, "the object");
    {
      const MutexLock lock{parts.mutex};
      parts.objects.retire(object);
    }
    CHECK(parts.store.tiers[0].heap.used() == Bytes{});
    const auto message = message_of([&] { parts.enter(object, Use::Read); });
    CHECK(message.find("the object") != std::string::npos);
    Manager::leave(parts.enter(object, Use::Overwrite));
    CHECK(parts.store.tiers[0].heap.used().count == quarter);
  }

  TEST_CASE("migration moves what is not pinned") {
    Admitting parts{{fast_tier(1_MiB), slow_tier(4_MiB, true)}};
    Object& free = parts.create(quarter, "free");
    Object& pinned = parts.create(quarter, "pinned");
    const auto op = parts.enter(pinned, Use::Read);
    const std::vector<BlockId> ids{free.block->id, pinned.block->id, 12345};
    {
      MutexLock lock{parts.mutex};
      Migration{parts.state, parts.store, parts.movement, 1, lock}.run(ids);
    }
    CHECK(Floors::tier_of(*free.block) == 1);
    CHECK(Floors::tier_of(*pinned.block) == 0);
    Manager::leave(op);
  }

  TEST_CASE("hints are counted by what came of them") {
    Admitting parts{{fast_tier(1_MiB), slow_tier(4_MiB, true)}};
    Object& object = parts.create(quarter, "object");
    const MutexLock lock{parts.mutex};
    parts.hints.apply(Hint::WillUse, object, 1);
    CHECK(parts.state.counters.totals.hints.present == 1);
    parts.hints.apply(Hint::Archive, object, 1);
    CHECK(object.block->record->archived);
    CHECK(parts.hints.prefetch(object) == Outcome::Done);
    CHECK_FALSE(object.block->record->archived);
  }
}

}  // namespace tier::admission_parts_test
