// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Events that a policy and an observer receive, and their order.
#include "rig.hpp"
#include "support/child.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <future>
#include <stdexcept>

namespace tier::policy_events_test {
namespace {

using namespace test;

/// An event as a line of text, with its sequence number and time.
struct Told {
  std::uint64_t sequence, time_ns;
  std::string what;
  friend bool operator==(const Told&, const Told&) = default;
};

class Log {
 public:
  template <class Event>
  void add(const Event& event, std::string what) {
    const MutexLock lock{mutex_};
    lines_.push_back({event.sequence, event.time_ns, std::move(what)});
  }
  std::vector<Told> lines() const {
    const MutexLock lock{mutex_};
    return lines_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<Told> lines_ TIER_GUARDED_BY(mutex_);
};

std::string number(std::uint64_t n) { return std::to_string(n); }

std::string text(const AllocationEvent& e) {
  return "place " + number(e.block) + " " + number(e.size.count) + " " + std::string{e.name};
}
std::string text(const RetireEvent& e) {
  return "retire " + number(e.block) + (e.freed ? " freed" : " garbage");
}
std::string text(const HintEvent& e) {
  return std::string{to_string(e.hint)} + " " + number(e.block) + " in " + number(e.scope);
}
std::string text(const UseEvent& e) { return std::string{to_string(e.use)} + " " + number(e.block); }
std::string text(const WatermarkEvent& e) {
  return "watermark " + number(e.tier) + " " + number(e.free.count);
}
std::string text(const StepEvent&) { return "step"; }
std::string text(const IdleEvent&) { return "idle"; }
std::string text(const MissEvent& e) {
  return "miss " + number(e.block.id) + " " + std::string{to_string(e.use)} + " from " +
         number(e.block.tier) + " in " + number(e.scope);
}
std::string text(const KernelEvent& e) {
  std::string t = std::string{e.name} + " " + number(e.scope);
  for (const auto& op : e.operands)
    t += " " + std::string{to_string(op.use)} + ":" + number(op.block) + "@" + number(op.tier);
  return t;
}

/// A policy that subscribes to all events.
class Subscriber final : public Policy {
 public:
  explicit Subscriber(Log& log) : log_{log} {}
  std::string_view name() const noexcept override { return "subscriber"; }
  WantedUses wanted_uses() const noexcept override { return WantedUses::EveryUse; }
  bool wants_kernels() const noexcept override { return true; }
  double watermark() const noexcept override { return 0.35; }
  Placement place(const AllocationEvent& e, PolicyContext&) override {
    return log_.add(e, text(e)), Placement{0, true};
  }
  MissDecision on_miss(const MissEvent& e, PolicyContext&) override {
    return log_.add(e, text(e)), MissDecision{0, false};
  }
  void on_hint(const HintEvent& e, PolicyContext&) override { log_.add(e, text(e)); }
  void on_use(const UseEvent& e, PolicyContext&) override { log_.add(e, text(e)); }
  void on_kernel_begin(const KernelEvent& e, PolicyContext&) override { log_.add(e, "begin " + text(e)); }
  void on_kernel_end(const KernelEvent& e, PolicyContext&) override { log_.add(e, "end " + text(e)); }
  void on_retire(const RetireEvent& e, PolicyContext&) override { log_.add(e, text(e)); }
  void on_watermark(const WatermarkEvent& e, PolicyContext&) override { log_.add(e, text(e)); }
  void on_step(const StepEvent& e, PolicyContext&) override { log_.add(e, text(e)); }
  void on_idle(const IdleEvent& e, PolicyContext&) override { log_.add(e, text(e)); }

 private:
  Log& log_;
};

/// Records the events that policies also receive, and separately those for observers alone.
class Listener final : public Observer {
 public:
  void on_allocation(const AllocationEvent& e) noexcept override { log.add(e, text(e)); }
  void on_retire(const RetireEvent& e) noexcept override { log.add(e, text(e)); }
  void on_hint(const HintEvent& e) noexcept override { log.add(e, text(e)); }
  void on_kernel_begin(const KernelEvent& e) noexcept override { log.add(e, "begin " + text(e)); }
  void on_kernel_end(const KernelEvent& e) noexcept override { log.add(e, "end " + text(e)); }
  void on_miss(const MissEvent& e) noexcept override { log.add(e, text(e)); }
  void on_use(const UseEvent& e) noexcept override { log.add(e, text(e)); }
  void on_watermark(const WatermarkEvent& e) noexcept override { log.add(e, text(e)); }
  void on_step(const StepEvent& e) noexcept override { log.add(e, text(e)); }
  void on_idle(const IdleEvent& e) noexcept override { log.add(e, text(e)); }
  void on_migration(const MigrationEvent& e) noexcept override {
    rest.add(e, std::string{to_string(e.cause)} + " " + number(e.block) + " " + number(e.from) + ">" +
                    number(e.to) + " " + number(e.bytes.count));
  }
  void on_stall(const StallEvent& e) noexcept override { rest.add(e, "stall in " + number(e.scope)); }
  void on_region(const RegionEvent& e) noexcept override {
    occupied[e.tier] +=
        e.freed ? -static_cast<std::int64_t>(e.size.count) : static_cast<std::int64_t>(e.size.count);
    rest.add(e, "region");
  }
  void on_object(const ObjectEvent& e) noexcept override { rest.add(e, "object"); }
  void on_placement(const PlacementEvent& e) noexcept override { rest.add(e, "placement"); }
  void on_fault(const FaultEvent& e) noexcept override { rest.add(e, "fault"); }
  Log log, rest;
  std::array<std::int64_t, max_tiers> occupied{};
};

/// Throws from one of its calls.
class Thrower final : public Policy {
 public:
  enum class Where { Place, Miss, Choose, Hint, Step, Retire, Idle };
  explicit Thrower(Where where) : where_{where} {}
  std::string_view name() const noexcept override { return "thrower"; }
  Placement place(const AllocationEvent&, PolicyContext&) override {
    return at(Where::Place), Placement{0, true};
  }
  MissDecision on_miss(const MissEvent&, PolicyContext&) override {
    return at(Where::Miss), MissDecision{0, false};
  }
  RunChoice choose(const RoomRequest& r, std::span<const Run> runs, PolicyContext& c) override {
    return at(Where::Choose), Policy::choose(r, runs, c);
  }
  void on_hint(const HintEvent&, PolicyContext&) override { at(Where::Hint); }
  void on_step(const StepEvent&, PolicyContext&) override { at(Where::Step); }
  void on_retire(const RetireEvent&, PolicyContext&) override { at(Where::Retire); }
  void on_idle(const IdleEvent&, PolicyContext&) override { at(Where::Idle); }

 private:
  void at(Where where) const {
    if (where == where_) throw std::runtime_error{"on purpose"};
  }
  Where where_;
};

std::shared_ptr<Manager> manager_with(std::unique_ptr<Policy> policy) {
  std::vector<std::unique_ptr<Tier>> tiers;
  tiers.push_back(std::make_unique<MemoryTier>(fast_tier(1_MiB)));
  tiers.push_back(std::make_unique<MemoryTier>(slow_tier(8_MiB, false)));
  return Manager::make(std::move(tiers), std::move(policy), {.threads = 1, .yields = false});
}

void use(Manager& manager, const ObjectHandle& object, Use how, std::uint64_t scope) {
  Operand op = Operand::of(object.ref(), how);
  manager.enter({&op, 1}, {scope, true, {}});
  if (how != Use::Read) std::memset(op.address, 1, op.size);
  Manager::leave({&op, 1});
}

/// Causes each kind of event a few times; afterwards nothing moves.
void program(Manager& manager) {
  auto a = manager.create(600_KiB, 64, "a"), b = manager.create(100_KiB, 64, "b");
  use(manager, a, Use::Overwrite, 1);
  use(manager, b, Use::Overwrite, 2);
  manager.hint(Hint::Archive, a.ref(), 3);
  auto c = manager.create(600_KiB, 64, "c");  // takes the place of `a`
  use(manager, c, Use::Overwrite, 4);
  use(manager, a, Use::Read, 5);
  manager.quiesce();
  std::vector<Operand> batch{Operand::of(a.ref(), Use::Read), Operand::of(b.ref(), Use::Update)};
  manager.enter(batch, {6, true, "kernel"});
  manager.kernel_begin({.scope = 6, .kernel = "kernel"}, batch);
  Manager::leave(batch);
  manager.kernel_end(6, 123);
  manager.hint_later(Hint::WillRead, b.ref(), 6);
  manager.prefetch(a.ref());
  manager.retire(b.ref());
  manager.end_of_step();
}

}  // namespace

TEST_CASE("a policy that subscribes to everything is told everything, in order") {
  Log log;
  auto manager = manager_with(std::make_unique<Subscriber>(log));
  program(*manager);
  std::vector<std::string> lines;
  for (const auto& told : log.lines())
    if (told.what != "idle") lines.push_back(told.what);
  const std::vector<std::string> expected{"place 1 614400 a",
                                          "place 2 102400 b",
                                          "watermark 0 331776",
                                          "overwrite 1",
                                          "overwrite 2",
                                          "archive 1 in 3",
                                          "place 3 614400 c",
                                          "overwrite 3",
                                          "miss 1 read from 1 in 5",
                                          "read 1",
                                          "update 2",
                                          "begin kernel 6 read:1@0 update:2@0",
                                          "end kernel 6 read:1@0 update:2@0",
                                          "will_read 2 in 6",
                                          "prefetch 1 in 0",
                                          "retire 2 freed",
                                          "step",
                                          "retire 3 freed",
                                          "retire 2 freed",
                                          "retire 1 freed"};
  for (std::size_t i = 0; i < std::max(lines.size(), expected.size()); ++i) {
    CAPTURE(i);
    CHECK((i < lines.size() ? lines[i] : "") == (i < expected.size() ? expected[i] : ""));
  }
}

TEST_CASE("sequence numbers strictly increase and times never go back, for policy and observer alike") {
  Log log;
  auto manager = manager_with(std::make_unique<Subscriber>(log));
  Listener listener;
  manager->add_observer(listener);
  program(*manager);
  manager->quiesce();
  manager->remove_observer(listener);
  auto all = listener.log.lines();
  const auto rest = listener.rest.lines();
  const auto told = log.lines();
  for (std::size_t i = 0; i < std::max(all.size(), told.size()); ++i)
    CHECK((i < told.size() ? told[i].what : "") == (i < all.size() ? all[i].what : ""));
  all.insert(all.end(), rest.begin(), rest.end());
  std::ranges::sort(all, {}, &Told::sequence);
  for (std::size_t i = 1; i < all.size(); ++i) {
    CHECK(all[i].sequence == all[i - 1].sequence + 1);  // an observer misses no event
    CHECK(all[i].time_ns >= all[i - 1].time_ns);
  }
}

TEST_CASE("an observer sees the migrations, the stalls and the occupancy of each tier") {
  Log log;
  auto manager = manager_with(std::make_unique<Subscriber>(log));
  Listener listener;
  manager->add_observer(listener);
  auto a = manager->create(600_KiB, 64, "a"), b = manager->create(600_KiB, 64, "b");  // `a` was never written
  use(*manager, b, Use::Overwrite, 1);
  use(*manager, a, Use::Overwrite, 2);  // `b` leaves
  use(*manager, b, Use::Read, 3);       // `a` leaves
  manager->quiesce();
  std::vector<std::string> lines;
  for (const auto& told : listener.rest.lines())
    if (told.what != "region" && told.what != "object" && told.what != "placement")
      lines.push_back(told.what);
  const std::vector<std::string> expected{"evict 1 0>1 0",     "evict 2 0>1 614400", "stall in 0",
                                          "miss 1 1>0 0",      "evict 1 0>1 614400", "stall in 0",
                                          "miss 2 1>0 614400", "stall in 3"};
  CHECK(lines == expected);
  const auto statistics = manager->statistics();
  for (std::size_t t = 0; t < 2; ++t)
    CHECK(static_cast<std::uint64_t>(listener.occupied[t]) == statistics.tiers[t].used.count);
  manager->remove_observer(listener);
}

TEST_CASE("uses are told while somebody wants them, and hits counted; kernels likewise") {
  auto manager = manager_with(std::make_unique<ScriptedPolicy>());
  auto a = manager->create(64_KiB, 64, "a");
  use(*manager, a, Use::Overwrite, 1);
  CHECK_FALSE(manager->wants_kernels());
  {
    Listener listener;
    manager->add_observer(listener);
    CHECK(manager->wants_kernels());
    for (int i = 0; i < 10; ++i) use(*manager, a, Use::Read, 1);
    manager->hint(Hint::Archive, a.ref(), 0);
    use(*manager, a, Use::Read, 1);  // told even if it does not take the short way
    manager->remove_observer(listener);
    const auto lines = listener.log.lines();
    CHECK(std::ranges::count(lines, "read 1", &Told::what) == 11);
  }
  CHECK_FALSE(manager->wants_kernels());
  CHECK(manager->statistics().hits == 11);
}

TEST_CASE("a policy that throws is replaced by first touch, said once, and the program goes on") {
  using Where = Thrower::Where;
  const auto all = {Where::Place, Where::Miss,   Where::Choose, Where::Hint,
                    Where::Step,  Where::Retire, Where::Idle};
  const auto ended = run_in_child("throw", [&] {
    for (const auto where : all) {
      auto manager = manager_with(std::make_unique<Thrower>(where));
      for (int i = 0; i < 3; ++i) program(*manager);
      manager->quiesce();
      manager->check_invariants();
    }
  });
  CHECK(ended.code == 0);
  const std::string_view words = "libtier: policy thrower threw an exception; going on with first touch\n";
  std::string expected;
  for (std::size_t i = 0; i < all.size(); ++i) expected += words;
  CHECK(ended.errors == expected);
}

TEST_CASE("who reads stderr may wait for the manager while it says that a policy has failed") {
  const auto ended = run_in_child("full pipe", [] {
    ::alarm(60);
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0 || ::dup2(ends[1], STDERR_FILENO) < 0) std::_Exit(3);
    ::fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
    while (::write(STDERR_FILENO, "x", 1) == 1) {
    }
    ::fcntl(STDERR_FILENO, F_SETFL, 0);
    auto manager = manager_with(std::make_unique<Thrower>(Thrower::Where::Step));
    auto failing = in_thread([&] { manager->end_of_step(); });
    const auto waits = [&] {
      return failing.wait_for(std::chrono::milliseconds{100}) == std::future_status::timeout;
    };
    if (!waits()) std::_Exit(4);
    auto object = manager->create(64_KiB, 64, "needed by the reader");
    use(*manager, object, Use::Overwrite, 1);
    std::array<char, 4096> text{};
    while (waits()) std::ignore = ::read(ends[0], text.data(), text.size());
    std::_Exit(0);
  });
  CHECK(ended.signal == 0);
  CHECK(ended.code == 0);
}

TEST_CASE("after a failed policy objects are placed as first touch does, and nothing is lost") {
  std::string errors;
  auto manager = manager_with(std::make_unique<Thrower>(Thrower::Where::Step));
  auto a = manager->create(600_KiB, 64, "a");
  use(*manager, a, Use::Overwrite, 1);
  manager->end_of_step();
  auto b = manager->create(600_KiB, 64, "b");
  const auto objects = manager->object_statistics();
  CHECK(objects[0].tier == 0);
  CHECK(objects[1].tier == 1);
  Operand op = Operand::of(a.ref(), Use::Read);
  manager->enter({&op, 1}, {1, true, {}});
  CHECK(Rig::all_are(op, 1));
  Manager::leave({&op, 1});
}

}  // namespace tier::policy_events_test
