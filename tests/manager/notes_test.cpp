// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Notes that scopes leave: a bounded ring for each thread, in order; notes that do not fit are counted.
#include "manager/state/notes.hpp"
#include "rig.hpp"

#include <tier/manager/observer.hpp>

#include <doctest/doctest.h>

#include <barrier>
#include <map>
#include <set>
#include <thread>
#include <vector>

namespace tier::notes_test {
namespace {

using namespace test;

Note note(std::uint64_t id, std::uint64_t value = 0) {
  return {Note::Kind::Use, {}, Use::Read, false, 0, id, value};
}

constexpr std::uint64_t room = Notes::capacity - Notes::reserved;  // of uses and hints

std::vector<std::uint64_t> taken(Notes& notes) {
  std::vector<std::uint64_t> ids;
  notes.take([&](const Note& n) { ids.push_back(n.id); });
  return ids;
}

/// Records the uses that it is told of; the first of them can hold up all threads.
class UsesPolicy final : public Policy {
 public:
  explicit UsesPolicy(WantedUses wanted) : wanted_{wanted} {}
  std::string_view name() const noexcept override { return "uses"; }
  WantedUses wanted_uses() const noexcept override { return wanted_; }
  bool wants_kernels() const noexcept override { return true; }
  Placement place(const AllocationEvent&, PolicyContext&) override { return {0, true}; }
  MissDecision on_miss(const MissEvent&, PolicyContext&) override { return ++misses, miss; }
  void on_use(const UseEvent& event, PolicyContext&) override {
    if (const auto now = std::exchange(at_next_use, {})) now();
    uses.push_back(event);
  }
  void on_kernel_end(const KernelEvent&, PolicyContext&) override { ++kernels; }

  MissDecision miss{0, false};
  std::vector<UseEvent> uses;
  std::size_t misses = 0, kernels = 0;
  std::function<void()> at_next_use;

 private:
  WantedUses wanted_;
};

class Listener final : public Observer {
 public:
  void on_use(const UseEvent&) noexcept override { ++uses; }
  std::size_t uses = 0;
};

/// Memory that a fork does not copy for the child.
class ParentsTier final : public MemoryTier {
 public:
  explicit ParentsTier(const MemoryTierOptions& options) : MemoryTier{options} { copied_by_fork_ = false; }
};

struct UsesRig {
  template <class T = MemoryTier>
  explicit UsesRig(WantedUses wanted, std::type_identity<T> = {}) {
    auto made = std::make_unique<UsesPolicy>(wanted);
    policy = made.get();
    std::vector<std::unique_ptr<Tier>> tiers;
    for (const auto& options : {fast_tier(1_MiB), slow_tier(8_MiB, true)}) {
      auto tier = std::make_unique<T>(options);
      memory.push_back(tier.get());
      tiers.push_back(std::move(tier));
    }
    manager = Manager::make(std::move(tiers), std::move(made), {.threads = 1, .yields = false});
  }
  ObjectHandle make(Bytes size) {
    auto object = manager->create(size, 64, "object");
    use(object, Use::Overwrite);
    return object;
  }
  /// Opens and closes a scope, the short way if that is open.
  void use(const ObjectHandle& object, Use how) {
    Operand op = Operand::of(object.ref(), how);
    op.entered = op.block->try_enter(how, manager->clock().stamp());
    if (!op.entered) manager->enter({&op, 1}, {1, true, {}});
    Manager::leave({&op, 1});
  }
  /// Returns how many uses the policy was told of since the last call.
  std::size_t told() {
    manager->end_of_step();
    return std::exchange(policy->uses, {}).size();
  }

  UsesPolicy* policy = nullptr;
  std::vector<MemoryTier*> memory;
  std::shared_ptr<Manager> manager;
};

}  // namespace

TEST_CASE(
    "notes of a thread come in order, none is lost while its ring has room, and ends of kernels have some "
    "left") {
  const auto notes = Notes::make();
  CHECK(taken(*notes).empty());
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < room; ++i) REQUIRE(notes->leave(note(i)));
    CHECK_FALSE(notes->leave(note(0)));
    for (std::uint64_t i = room; i < Notes::capacity; ++i)
      REQUIRE(notes->leave({Note::Kind::KernelEnd, {}, {}, {}, 0, i, 0}));
    CHECK_FALSE(notes->leave({Note::Kind::KernelEnd, {}, {}, {}, 0, 0, 0}));
    const auto ids = taken(*notes);
    REQUIRE(ids.size() == Notes::capacity);
    for (std::uint64_t i = 0; i < Notes::capacity; ++i) CHECK(ids[i] == i);
  }
}

TEST_CASE("a thread takes its own notes alone, or those of all") {
  const auto notes = Notes::make();
  CHECK(notes->leave(note(1)));
  std::jthread{[&] { CHECK(notes->leave(note(2))); }}.join();
  std::vector<std::uint64_t> own;
  notes->take_own([&](const Note& n) { own.push_back(n.id); });
  const auto bytes = notes->bytes();
  std::jthread{[&] { notes->take_own([](const Note&) { FAIL("another's"); }); }}.join();
  CHECK(notes->bytes() == bytes);  // a thread that leaves no note gets no ring
  CHECK(own == std::vector<std::uint64_t>{1});
  CHECK(taken(*notes) == std::vector<std::uint64_t>{2});
}

TEST_CASE("threads fill rings of their own while another takes; each one's notes come once and in order") {
  constexpr std::uint64_t threads = 4, each = 100'000;
  const auto notes = Notes::make();
  std::atomic<std::uint64_t> left{0}, running{threads};
  std::barrier each_has_a_ring{threads};
  std::vector<std::jthread> team;
  for (std::uint64_t t = 0; t < threads; ++t)
    team.emplace_back([&, t] {
      notes->prepare();
      each_has_a_ring.arrive_and_wait();
      for (std::uint64_t i = 1; i <= each; ++i) left += notes->leave(note(t, i)) ? 1 : 0;
      --running;
    });
  std::vector<std::uint64_t> last(threads), count(threads);
  const auto take = [&] {
    notes->take([&](const Note& n) {
      CHECK(n.value > last[n.id]);
      last[n.id] = n.value;
      ++count[n.id];
    });
  };
  while (running > 0) take();
  team.clear();
  take();
  CHECK(left >= threads * room);
  CHECK(count[0] + count[1] + count[2] + count[3] == left);
}

TEST_CASE("a thread that ends leaves its notes behind, and its ring to the next") {
  const auto notes = Notes::make();
  std::size_t one = 0;
  for (std::uint64_t t = 0; t < 20; ++t) {
    std::jthread{[&] { CHECK(notes->leave(note(t))); }}.join();
    if (t == 0) one = notes->bytes();
  }
  CHECK(one > 0);
  CHECK(notes->bytes() == one);
  CHECK(taken(*notes).size() == 20);
}

TEST_CASE(
    "a thread may leave notes in the destructors of what it holds; those after its rings' end do not fit") {
  const auto notes = Notes::make();
  static std::atomic<int> fitted;
  fitted = 0;
  struct Late {
    std::shared_ptr<Notes> notes;
    ~Late() {
      if (notes != nullptr && notes->leave(note(7))) ++fitted;
    }
  };
  std::jthread{[&] {
    thread_local Late before;  // made before the thread's rings, so destroyed after them
    before.notes = notes;
    CHECK(notes->leave(note(1)));
    thread_local Late after;
    after.notes = notes;
  }}.join();
  CHECK(fitted == 1);
  CHECK(taken(*notes) == std::vector<std::uint64_t>{1, 7});
}

TEST_CASE("a thread tells managers apart, those that have ended and those made since among them") {
  std::weak_ptr<Notes> ended;
  {
    const auto first = Notes::make();
    CHECK(first->leave(note(1)));
    ended = first;
  }
  for (std::uint64_t round = 0; round < 100; ++round) {
    const auto a = Notes::make(), b = Notes::make();
    for (std::uint64_t i = 0; i < 3; ++i) {
      CHECK(a->leave(note(i)));
      CHECK(b->leave(note(10 + i)));
    }
    CHECK(taken(*a) == std::vector<std::uint64_t>{0, 1, 2});
    CHECK(taken(*b) == std::vector<std::uint64_t>{10, 11, 12});
    CHECK(ended.expired());
  }
}

TEST_CASE("every use: told by its thread itself when its ring is full, so that one thread loses none") {
  UsesRig rig{WantedUses::EveryUse};
  const auto object = rig.make(64_KiB);
  rig.told();
  const std::uint64_t uses = 3 * room;
  for (std::uint64_t i = 0; i < uses; ++i) rig.use(object, Use::Read);
  CHECK(rig.policy->uses.size() >= uses - room);  // without any other call
  CHECK(rig.told() == uses);
  CHECK(rig.manager->statistics().uses_dropped == 0);
}

TEST_CASE("every use under load: what is told and what is dropped make up all") {
  constexpr std::uint64_t threads = 3, each = 50'000;
  UsesRig rig{WantedUses::EveryUse};
  std::vector<ObjectHandle> objects;
  std::set<BlockId> blocks;
  for (std::uint64_t t = 0; t < threads; ++t) {
    objects.push_back(rig.make(64_KiB));
    blocks.insert(objects.back().ref().object->block->id);
  }
  rig.told();
  const auto misses = rig.policy->misses;
  std::vector<std::jthread> team;
  for (std::uint64_t t = 0; t < threads; ++t)
    team.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < each; ++i) rig.use(objects[t], i % 2 == 0 ? Use::Read : Use::Update);
    });
  team.clear();
  rig.manager->end_of_step();
  const auto statistics = rig.manager->statistics();
  CHECK(rig.policy->uses.size() + statistics.uses_dropped == threads * each);
  CHECK(rig.policy->misses == misses);
  std::uint64_t sequence = 0, time = 0;
  for (const auto& use : rig.policy->uses) {
    CHECK(use.sequence > sequence);
    CHECK(use.time_ns >= time);
    sequence = use.sequence;
    time = use.time_ns;
    CHECK(blocks.contains(use.block));
  }
  CHECK(rig.policy->uses.size() >= room);
}

TEST_CASE(
    "every use: where another thread has the lock, uses beyond the ring are dropped, and nobody waits") {
  UsesRig rig{WantedUses::EveryUse};
  const auto object = rig.make(64_KiB);
  rig.told();
  std::promise<void> held, go;
  rig.use(object, Use::Read);
  rig.policy->at_next_use = [&] {
    held.set_value();
    go.get_future().wait();
  };
  std::jthread holder{[&] { rig.manager->end_of_step(); }};
  held.get_future().wait();
  for (std::uint64_t i = 0; i < 2 * room; ++i) rig.use(object, Use::Read);
  go.set_value();
  holder.join();
  const auto told = rig.told();
  const auto dropped = rig.manager->statistics().uses_dropped;
  CHECK(dropped >= room - 1);
  CHECK(told + dropped == 2 * room + 1);
}

TEST_CASE("misses: uses outside the fastest tier that needed no decision are told, others are not") {
  UsesRig rig{WantedUses::Misses};
  const auto object = rig.make(64_KiB);
  for (int i = 0; i < 5; ++i) rig.use(object, Use::Read);
  CHECK(rig.told() == 0);  // the object is in the fastest tier
  const auto others = rig.make(1_MiB);
  rig.manager->quiesce();
  rig.policy->miss = {no_tier, true};
  const auto misses = rig.policy->misses;
  rig.use(object, Use::Read);
  CHECK(rig.policy->misses == misses + 1);
  CHECK(rig.told() == 0);  // the policy decided that use
  for (int i = 0; i < 5; ++i) rig.use(object, Use::Update);
  CHECK(rig.policy->misses == misses + 1);
  CHECK(rig.told() == 5);
  CHECK(rig.manager->statistics().in_place_operands == 1);  // the long way; the others took the short one
  rig.policy->miss = {0, false};
  CHECK(rig.manager->prefetch(object.ref()) == Outcome::Done);
  rig.manager->quiesce();
  rig.use(object, Use::Read);
  CHECK(rig.told() == 0);
  CHECK(rig.policy->misses == misses + 1);
}

TEST_CASE(
    "misses: a use of what is on its way is told, since it is late, and of its neighbour that is there not") {
  UsesRig rig{WantedUses::Misses};
  const auto object = rig.make(64_KiB), neighbour = rig.make(64_KiB);
  {
    const auto others = rig.make(1_MiB);
    rig.manager->quiesce();
  }
  rig.use(neighbour, Use::Read);
  CHECK(rig.told() == 0);
  Gate gate;
  rig.memory[1]->fails = [&](Direction direction, std::uint64_t, std::uint64_t) {
    if (direction == Direction::Read) gate.pass();
    return std::error_code{};
  };
  CHECK(rig.manager->prefetch(object.ref()) == Outcome::Done);
  gate.wait_for_arrival();
  std::jthread user{[&] {
    Operand op = Operand::of(object.ref(), Use::Read);
    rig.manager->enter({&op, 1}, {1, true, {}});
    Manager::leave({&op, 1});
  }};
  rig.use(neighbour, Use::Read);
  while (object.ref().object->block->pins() == 0) std::this_thread::yield();
  gate.open();
  user.join();
  CHECK(rig.told() == 1);
}

TEST_CASE("stamps: no use is told, and none costs a note") {
  UsesRig rig{WantedUses::Stamps};
  const auto object = rig.make(64_KiB);
  for (int i = 0; i < 100; ++i) rig.use(object, Use::Update);
  CHECK(rig.told() == 0);
  CHECK(rig.manager->statistics().hits == 0);
}

TEST_CASE("the end of a kernel has room where the ring is full of hints, which are dropped and counted") {
  UsesRig rig{WantedUses::Stamps};
  const auto object = rig.make(64_KiB);
  Operand op = Operand::of(object.ref(), Use::Read);
  rig.manager->enter({&op, 1}, {2, true, "kernel"});
  rig.manager->kernel_begin({.scope = 2, .kernel = "kernel"}, {&op, 1});
  for (std::size_t i = 0; i < room + 10; ++i) rig.manager->hint_later(Hint::WillRead, object.ref(), 2);
  rig.manager->kernel_end(2, 5);
  Manager::leave({&op, 1});
  CHECK(rig.policy->kernels == 0);  // leave() calls no policy
  rig.manager->end_of_step();
  CHECK(rig.policy->kernels == 1);
  CHECK(rig.manager->statistics().hints_dropped == 10);
}

TEST_CASE("ends of more kernels than a ring keeps room for are told all the same") {
  UsesRig rig{WantedUses::Stamps};
  const auto object = rig.make(64_KiB);
  const std::uint64_t kernels = Notes::reserved + 10;
  Operand op = Operand::of(object.ref(), Use::Read);
  rig.manager->enter({&op, 1}, {2, true, "kernel"});
  for (std::uint64_t k = 0; k < kernels; ++k)
    rig.manager->kernel_begin({.scope = k, .kernel = "kernel"}, {&op, 1});
  for (std::uint64_t i = 0; i < room; ++i) rig.manager->hint_later(Hint::WillRead, object.ref(), 2);
  for (std::uint64_t k = 0; k < kernels; ++k) rig.manager->kernel_end(k, 5);
  Manager::leave({&op, 1});
  rig.manager->end_of_step();
  CHECK(rig.policy->kernels == kernels);
}

TEST_CASE("every use: a batch of more operands than a ring holds loses none") {
  UsesRig rig{WantedUses::EveryUse};
  std::vector<ObjectHandle> objects;
  for (std::uint64_t i = 0; i < room + 100; ++i) objects.push_back(rig.make(64_B));
  rig.manager->hint(Hint::Archive, objects[0].ref(), 0);  // makes all uses take the long way
  rig.told();
  std::vector<Operand> batch;
  for (const auto& object : objects) batch.push_back(Operand::of(object.ref(), Use::Read));
  rig.manager->enter(batch, {1, true, {}});
  Manager::leave(batch);
  CHECK(rig.told() == objects.size());
  CHECK(rig.manager->statistics().uses_dropped == 0);
}

TEST_CASE("every use is told once, however often its scope had to give back what it had") {
  UsesRig rig{WantedUses::EveryUse};
  const auto small = rig.make(64_KiB), large = rig.make(1_MiB - 64_KiB), other = rig.make(512_KiB);
  rig.use(small, Use::Read);
  rig.manager->quiesce();
  rig.told();
  const auto misses = rig.policy->misses;
  Operand held = Operand::of(other.ref(), Use::Read);
  rig.manager->enter({&held, 1}, {1, true, {}});
  std::jthread user{[&] {
    std::vector<Operand> batch{Operand::of(small.ref(), Use::Read), Operand::of(large.ref(), Use::Read)};
    batch[0].entered = batch[0].block->try_enter(Use::Read, rig.manager->clock().stamp());
    rig.manager->enter(batch, {2, true, {}});
    Manager::leave(batch);
  }};
  while (!held.block->state.now().is_awaited()) std::this_thread::yield();  // it lacked room
  Manager::leave({&held, 1});
  user.join();
  const auto asked = rig.policy->misses - misses;
  rig.manager->end_of_step();
  std::map<BlockId, int> told;
  for (const auto& use : rig.policy->uses) ++told[use.block];
  CHECK(asked >= 1);
  CHECK(told[small.ref().object->block->id] == 1);
  CHECK(told[large.ref().object->block->id] == 0);
}

TEST_CASE("an observer is told of every use from its beginning on, the policy no more than it wants") {
  for (const auto wanted : {WantedUses::Stamps, WantedUses::Misses, WantedUses::EveryUse}) {
    CAPTURE(static_cast<int>(wanted));
    UsesRig rig{wanted};
    const auto object = rig.make(64_KiB);
    rig.told();
    for (int i = 0; i < 5; ++i) rig.use(object, Use::Read);
    Listener listener;
    rig.manager->add_observer(listener);
    rig.policy->uses.clear();
    for (int i = 0; i < 7; ++i) rig.use(object, Use::Read);
    rig.manager->remove_observer(listener);
    CHECK(listener.uses == 7);
    CHECK(rig.told() == (wanted == WantedUses::EveryUse ? 7 : 0));
  }
}

TEST_CASE("in the child of a fork an observer may go, and what was out of reach stays so") {
  Listener listener;
  UsesRig rig{WantedUses::EveryUse, std::type_identity<ParentsTier>{}};
  const auto object = rig.make(64_KiB);
  rig.manager->add_observer(listener);
  rig.use(object, Use::Read);
  rig.manager->before_fork();
  rig.manager->after_fork(true);
  rig.manager->remove_observer(listener);
  CHECK(listener.uses == 0);
  CHECK_FALSE(object.ref().object->block->try_enter(Use::Read, 0));
  CHECK_THROWS_AS(rig.use(object, Use::Read), TierError);
}

TEST_CASE("in the child of a fork uses are told to nobody, however many there are") {
  UsesRig rig{WantedUses::EveryUse};
  const auto object = rig.make(64_KiB);
  for (int i = 0; i < 10; ++i) rig.use(object, Use::Read);
  rig.manager->before_fork();
  rig.manager->after_fork(true);  // tells it that it is in the child
  for (std::uint64_t i = 0; i < 2 * Notes::capacity; ++i) rig.use(object, Use::Read);
  CHECK(rig.policy->uses.empty());
}

}  // namespace tier::notes_test
