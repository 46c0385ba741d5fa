// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Blocks that several threads read: readers in slots of their own stand for pins.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "manager/state/reader_slots.hpp"
#include "rig.hpp"
#include "support/steps.hpp"

namespace tier::shared_readers_test {
namespace {

using namespace literals;

/// Enters for reading as a scope does.
struct Reader {
  explicit Reader(const ObjectHandle& object) : op{Operand::of(object.ref(), Use::Read)} {
    op.entered = op.block->try_enter(Use::Read, op.block->manager->clock().stamp(), op.slot);
    if (op.entered) op.address = op.block->address.load(std::memory_order_relaxed);
  }
  Reader(Reader&& other) noexcept : op{std::exchange(other.op, {})} {}
  Reader& operator=(Reader&&) = delete;
  ~Reader() { Manager::leave({&op, 1}); }
  [[nodiscard]] bool has_slot() const { return op.slot != nullptr; }

  Operand op;
};

Block& block_of(const ObjectHandle& object) { return *object.ref().object->block; }

/// The number of slots that are not free.
std::size_t taken() {
  std::size_t count = 0;
  ReaderSlots::for_each([&](const ReaderSlot& slot) { count += slot.is_free() ? 0 : 1; });
  return count;
}

}  // namespace

TEST_CASE("readers of a shared block take slots, until somebody asks for its pins") {
  test::Rig rig{1_MiB, 4_MiB, false};
  const auto object = rig.make(64_KiB, 'a');
  auto& state = block_of(object).state;
  const auto before = taken();
  {
    const Reader first{object};
    CHECK(!first.has_slot());  // nobody else reads it
    CHECK(state.now().pins() == 1);
    state.share();
    const Reader second{object}, third{object};
    CHECK(second.has_slot());
    CHECK(third.has_slot());
    CHECK(second.op.address == first.op.address);
    CHECK(state.now().pins() == 1);
    CHECK(taken() == before + 2);
    CHECK(state.count_readers().pins() == 3);
    CHECK(!state.now().is_shared());
    const Reader fourth{object};
    CHECK(!fourth.has_slot());
  }
  CHECK(state.now().pins() == 0);
  CHECK(taken() == before);
}

TEST_CASE("what asks for the manager, or waits for the last pin, is not shared") {
  BlockState state;
  state.set_hints({.asks = true});
  state.share();
  CHECK(!state.now().is_shared());
  state.set_hints({});
  CHECK(state.await_last_pin().pins() == 0);
  state.share();
  CHECK(!state.now().is_shared());
  state.stop_awaiting();
  state.share();
  CHECK(state.now().is_shared());
  CHECK(state.try_begin_move());
  CHECK(!state.now().is_shared());
  state.share();
  CHECK(!state.now().is_shared());
  state.end_move();
  state.share();
  state.retire();
  CHECK(!state.now().is_shared());
}

TEST_CASE("a writer pins a shared block") {
  test::Rig rig{1_MiB, 4_MiB, false};
  const auto object = rig.make(64_KiB, 'a');
  block_of(object).state.share();
  rig.write(object, 'b', Use::Update);
  Operand op = Operand::of(object.ref(), Use::Update);
  CHECK(op.block->try_enter(Use::Update, rig.manager->clock().stamp(), op.slot));
  CHECK(op.slot == nullptr);
  CHECK(block_of(object).pins() == 1);
  block_of(object).leave();
  CHECK(rig.holds(object, 'b'));
}

TEST_CASE("a block that readers in slots use does not leave, and leaves after the last of them") {
  test::Rig rig{1_MiB, 4_MiB, false};
  const auto object = rig.make(512_KiB, 'a');
  block_of(object).state.share();
  {
    const Reader reader{object};
    REQUIRE(reader.has_slot());
    CHECK(rig.evict(object) == Outcome::Pinned);
    const auto other = rig.manager->create(768_KiB, 64, "other");  // there is no room for both
    CHECK(rig.where(object) == 0);
    CHECK(test::Rig::all_are(reader.op, 'a'));
    CHECK(rig.where(other) == 1);
  }
  block_of(object).state.share();
  CHECK(rig.evict(object) == Outcome::Done);
  rig.manager->quiesce();
  CHECK(rig.where(object) == 1);
  CHECK(rig.holds(object, 'a'));
}

TEST_CASE("an object that is destroyed under readers in slots lives until the last of them") {
  test::Rig rig{1_MiB, 4_MiB, false};
  auto object = rig.make(64_KiB, 'a');
  block_of(object).state.share();
  std::optional<Reader> first{std::in_place, object}, second{std::in_place, object};
  REQUIRE(first->has_slot());
  object.reset();
  CHECK(rig.manager->statistics().blocks == 1);
  std::thread{[&] {
    CHECK(test::Rig::all_are(first->op, 'a'));
    first.reset();
  }}.join();
  CHECK(rig.manager->statistics().blocks == 1);
  CHECK(test::Rig::all_are(second->op, 'a'));
  second.reset();
  CHECK(rig.manager->statistics().blocks == 0);
}

TEST_CASE("the last reader in a slot may outlive all owners of the manager") {
  std::optional<test::Rig> rig{std::in_place, 1_MiB, 4_MiB, false};
  std::optional<ObjectHandle> object{rig->make(64_KiB, 'a')};
  block_of(*object).state.share();
  std::optional<Reader> reader{std::in_place, *object};
  REQUIRE(reader->has_slot());
  object.reset();
  rig.reset();
  CHECK(test::Rig::all_are(reader->op, 'a'));
  reader.reset();
}

TEST_CASE("a thread with more readers than slots pins the rest") {
  test::Rig rig{1_MiB, 4_MiB, false};
  const auto object = rig.make(64_KiB, 'a');
  block_of(object).state.share();
  {
    std::vector<Reader> readers;
    for (std::size_t i = 0; i < ReaderSlots::of_one_thread + 3; ++i) readers.emplace_back(object);
    CHECK(block_of(object).pins() == 3);
    CHECK(block_of(object).state.count_readers().pins() == readers.size());
  }
  CHECK(block_of(object).pins() == 0);
}

TEST_CASE("slots of an ended thread serve others, beside readers that it has left") {
  test::Rig rig{1_MiB, 4_MiB, false};
  const auto object = rig.make(64_KiB, 'a');
  auto& state = block_of(object).state;
  std::set<const ReaderSlot*> seen;
  std::optional<Reader> left;
  for (int i = 0; i < 4; ++i)
    std::thread{[&, i] {
      state.share();
      Reader reader{object};
      CHECK(reader.has_slot());
      seen.insert(reader.op.slot);
      if (i == 0) left.emplace(std::move(reader));
    }}.join();
  CHECK(seen.size() == 2);  // the first one's is still taken
  CHECK(state.count_readers().pins() == 1);
  left.reset();
  CHECK(state.now().pins() == 0);
}

TEST_CASE("an entry that asks the manager turns slots into pins, and gives all of them back") {
  test::Rig rig{1_MiB, 4_MiB, false};
  const auto here = rig.make(64_KiB, 'a'), there = rig.make(64_KiB, 'b');
  REQUIRE(rig.evict(there) == Outcome::Done);
  block_of(here).state.share();
  std::array batch{Operand::of(here.ref(), Use::Read), Operand::of(there.ref(), Use::Read)};
  auto& first = batch.front();
  first.entered = first.block->try_enter(Use::Read, rig.manager->clock().stamp(), first.slot);
  REQUIRE(first.slot != nullptr);
  rig.manager->enter(batch, {1, true, {}});
  CHECK(first.slot == nullptr);
  CHECK(block_of(here).pins() == 1);
  CHECK(block_of(there).pins() == 1);
  Manager::leave(batch);
  CHECK(block_of(here).pins() == 0);
  CHECK(block_of(there).pins() == 0);
}

TEST_CASE("readers share what two threads find pinned, and not what one thread pins more than once") {
  test::Rig rig{1_MiB, 4_MiB, false};
  const auto object = rig.make(64_KiB, 'a');
  const Reader outer{object};
  const auto read_often = [&] {
    for (int i = 0; i < 64; ++i) const Reader inner{object};
  };
  for (int i = 0; i < 100; ++i) read_often();
  CHECK(!block_of(object).state.now().is_shared());
  for (int i = 0; i < 3; ++i) {
    std::thread{read_often}.join();
    read_often();
  }
  CHECK(block_of(object).state.now().is_shared());
}

TEST_CASE("readers of a shared block are stamped once in a thousand uses") {
  test::Rig rig{1_MiB, 4_MiB, false};
  const auto object = rig.make(64_KiB, 'a');
  auto& block = block_of(object);
  block.state.share();
  { const Reader first{object}; }
  const auto stamp = block.last_use.load();
  { const Reader second{object}; }
  CHECK(block.last_use.load() == stamp);
  for (int i = 0; i < 1100; ++i) std::ignore = rig.manager->clock().stamp();
  { const Reader third{object}; }
  CHECK(block.last_use.load() > stamp + 1000);
}

TEST_CASE("nobody moves what readers in slots use, and no reader is lost") {
  Block block;
  std::atomic<int> users{0};
  std::atomic<bool> moves{false}, over{false};
  std::atomic<std::uint64_t> wrong{0}, uses{0}, slots{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (std::uint64_t stamp = 0; !over; ++stamp) {
        std::this_thread::yield();  // or else the block is in use all the time
        block.state.share();
        ReaderSlot* slot = nullptr;
        if (!block.try_enter(Use::Read, stamp, slot)) continue;
        ++users;
        wrong += moves.load() ? 1 : 0;
        ++uses;
        slots += slot != nullptr ? 1 : 0;
        --users;
        slot != nullptr ? block.leave(*slot) : block.leave();
      }
    });
  const std::uint64_t wanted = test::steps(2000);
  std::uint64_t moved = 0;
  while (moved < wanted || slots < wanted) {  // a single mover, as under the manager's lock
    if (!block.state.try_begin_move()) continue;
    moves = true;
    wrong += users.load() != 0 ? 1 : 0;
    moves = false;
    block.state.end_move();
    ++moved;
    std::this_thread::yield();
  }
  over = true;
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(block.state.count_readers().pins() == 0);
  CHECK(uses >= slots);
}

}  // namespace tier::shared_readers_test
