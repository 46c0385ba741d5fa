// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  One operand of a batch is busy at the moment at which the others could begin.
#include "rig.hpp"

#include <doctest/doctest.h>

namespace tier::busy_operands_test {
namespace {

using namespace test;

/// Pins a block, as another thread's scope that is about to enter, while room is taken for another block: from the first
/// region that is allocated until one is freed.
class Passing final : public Observer {
 public:
  explicit Passing(const ObjectHandle& through) : block_{*through.ref().object->block} {}
  void on_region(const RegionEvent& event) noexcept override {
    if (event.freed)
      leave();
    else if (!came)
      came = inside_ = true, block_.state.pin();
  }
  void leave() noexcept {
    if (std::exchange(inside_, false)) block_.state.unpin();
  }
  bool came = false;

 private:
  Block& block_;
  bool inside_ = false;
};

/// Two objects on a device; one batch overwrites `written` and fetches `read`.
struct Batch {
  explicit Batch(bool written_first) {
    for (auto* object : {&written, &read}) {
      REQUIRE(rig.evict(*object) == Outcome::Done);
      rig.settle();
    }
    operands = {Operand::of(written.ref(), Use::Overwrite), Operand::of(read.ref(), Use::Read)};
    if (!written_first) std::swap(operands[0], operands[1]);
  }
  void enter() { rig.manager->enter(operands, {operands.size(), true, {}}); }

  Rig rig{8_MiB, 16_MiB, false};
  ObjectHandle written = rig.make(512_KiB, 'w', "written"), read = rig.make(512_KiB, 'r', "read");
  std::vector<Operand> operands;
};

}  // namespace

TEST_CASE("nothing is overwritten while another operand's fetch cannot begin yet, which then fails") {
  for (const bool written_first : {true, false}) {
    CAPTURE(written_first);
    Batch batch{written_first};
    Passing other{batch.read};
    const auto version = batch.written.ref().object->block->version.load();
    int reads = 0;
    batch.rig.slow().fails = [&](Direction d, std::uint64_t, std::uint64_t) {
      if (d != Direction::Read) return std::error_code{};
      ++reads;
      CHECK(batch.written.ref().object->block->version == version);
      return std::make_error_code(std::errc::io_error);
    };
    batch.rig.manager->add_observer(other);
    CHECK_THROWS_AS(batch.enter(), TierError);
    batch.rig.manager->remove_observer(other);
    CHECK(other.came);
    CHECK(reads == 2);  // the first try and one retry
    batch.rig.slow().fails = nullptr;
    CHECK(batch.rig.holds(batch.written, 'w'));
    CHECK(batch.rig.holds(batch.read, 'r'));
    batch.rig.settle();
  }
}

TEST_CASE("an operand whose fetch could not begin at first is read, and the other is overwritten") {
  for (const bool written_first : {true, false}) {
    CAPTURE(written_first);
    Batch batch{written_first};
    Passing other{batch.read};
    batch.rig.manager->add_observer(other);
    batch.enter();
    batch.rig.manager->remove_observer(other);
    CHECK(other.came);
    for (const auto& op : batch.operands) {
      CHECK(op.entered);
      if (op.use == Use::Read) CHECK(Rig::all_are(op, 'r'));
      if (op.use == Use::Overwrite) std::memset(op.address, 'W', op.size);
    }
    Manager::leave(batch.operands);
    CHECK(batch.rig.holds(batch.written, 'W'));
    batch.rig.settle();
  }
}

}  // namespace tier::busy_operands_test
