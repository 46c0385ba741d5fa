// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The announcer, which tells the policy and observers of events, tested without a manager.
#include "manager/state/announcer.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/child.hpp"

namespace tier::announcer_test {
namespace {

/// A clock that a test sets.
class Clock final : public VirtualClock {
 public:
  std::uint64_t copy_ns(const Tier&, const Tier&, std::uint64_t, Carrier) const noexcept override {
    return 0;
  }
};

/// A context without actions; the events of this test ask for none.
class NoContext final : public PolicyContext {
 public:
  std::size_t tier_count() const noexcept override { return 0; }
  TierFacts tier_facts(TierIndex) const noexcept override { return {}; }
  std::optional<BlockFacts> block_facts(BlockId) const noexcept override { return {}; }
  TierIndex slower(TierIndex) const noexcept override { return no_tier; }
  bool in_background(TierIndex, TierIndex) const noexcept override { return false; }
  Outcome copy(BlockId, TierIndex, When) noexcept override { return Outcome::Gone; }
  Outcome fetch(BlockId, TierIndex, bool) noexcept override { return Outcome::Gone; }
  Outcome make_primary(BlockId, TierIndex) noexcept override { return Outcome::Gone; }
  Outcome drop(BlockId, TierIndex) noexcept override { return Outcome::Gone; }
  Outcome evict(BlockId, TierIndex) noexcept override { return Outcome::Gone; }
  void rerank(BlockId) noexcept override {}
};

using Lines = std::vector<std::string>;

class Listener final : public Observer {
 public:
  Listener(Lines& lines, WantedUses uses, bool kernels) : lines_{lines}, uses_{uses}, kernels_{kernels} {}
  WantedUses wanted_uses() const noexcept override { return uses_; }
  bool wants_kernels() const noexcept override { return kernels_; }
  void on_step(const StepEvent& e) noexcept override { line("step", e); }
  void on_use(const UseEvent& e) noexcept override { line("use " + std::to_string(e.block), e); }
  void on_kernel_begin(const KernelEvent& e) noexcept override { line("begin " + std::string{e.name}, e); }
  void on_kernel_end(const KernelEvent& e) noexcept override {
    line("end " + std::string{e.name} + " after " + std::to_string(e.duration_ns), e);
  }

 private:
  void line(const std::string& what, const EventHeader& header) {
    lines_.push_back(what + " #" + std::to_string(header.sequence) + " at " + std::to_string(header.time_ns));
  }
  Lines& lines_;
  WantedUses uses_;
  bool kernels_;
};

class TestPolicy final : public Policy {
 public:
  TestPolicy(Lines& lines, WantedUses uses, bool kernels, bool throws = false)
      : lines_{lines}, uses_{uses}, kernels_{kernels}, throws_{throws} {}
  std::string_view name() const noexcept override { return "test"; }
  WantedUses wanted_uses() const noexcept override { return uses_; }
  bool wants_kernels() const noexcept override { return kernels_; }
  Placement place(const AllocationEvent&, PolicyContext&) override {
    if (throws_) throw std::runtime_error{"on purpose"};
    return {1, true};
  }
  MissDecision on_miss(const MissEvent&, PolicyContext&) override { return {}; }
  void on_use(const UseEvent& e, PolicyContext&) override {
    lines_.push_back("policy: use " + std::to_string(e.block));
  }
  void on_kernel_begin(const KernelEvent& e, PolicyContext&) override {
    lines_.push_back("policy: begin " + std::string{e.name});
  }
  void on_kernel_end(const KernelEvent& e, PolicyContext&) override {
    lines_.push_back("policy: end " + std::string{e.name});
  }

 private:
  Lines& lines_;
  WantedUses uses_;
  bool kernels_, throws_;
};

/// Keeps an announcer with its own clock, and the lines that it announces.
struct Rig {
  explicit Rig(WantedUses uses = WantedUses::Stamps, bool kernels = false, bool throws = false)
      : announcer{std::make_unique<TestPolicy>(lines, uses, kernels, throws), timeline, failure,
                  [this] { ++changes; }} {
    announcer.connect(context);
  }

  Lines lines;
  Clock clock;
  Timeline timeline{&clock};
  PolicyFailure failure;
  NoContext context;
  int changes = 0;
  Announcer announcer;
};

}  // namespace

TEST_CASE(
    "events have ascending numbers and the clock's time, and go to all observers in the order in which they "
    "came") {
  Rig rig;
  Listener first{rig.lines, WantedUses::Stamps, false}, second{rig.lines, WantedUses::Stamps, false};
  rig.announcer.add(first);
  StepEvent event;
  rig.announcer.tell(event, &Observer::on_step);
  rig.announcer.add(second);
  rig.clock.set(70);
  rig.announcer.tell(event, &Observer::on_step);
  rig.announcer.remove(first);
  rig.announcer.tell(event, &Observer::on_step);
  CHECK(rig.lines == Lines{"step #1 at 0", "step #2 at 70", "step #2 at 70", "step #3 at 70"});
  CHECK(rig.changes == 3);
}

TEST_CASE("what is for observers alone has no number where there are none") {
  Rig rig;
  rig.announcer.tell_observers(StepEvent{}, &Observer::on_step);
  Listener listener{rig.lines, WantedUses::Stamps, false};
  rig.announcer.add(listener);
  rig.announcer.tell_observers(StepEvent{}, &Observer::on_step);
  CHECK(rig.lines == Lines{"step #1 at 0"});
}

TEST_CASE("uses are told as far as the policy or an observer wants them") {
  const Note inside{Note::Kind::Use, {}, Use::Read, false, 0, 1, 0},
      outside{Note::Kind::Use, {}, Use::Read, true, 0, 2, 0};
  Rig rig{WantedUses::Misses};
  CHECK(rig.announcer.wants_use(true));
  CHECK_FALSE(rig.announcer.wants_use(false));
  rig.announcer.tell_use(inside);
  rig.announcer.tell_use(outside);
  CHECK(rig.lines == Lines{"policy: use 2"});
  Listener listener{rig.lines, WantedUses::EveryUse, false};
  rig.announcer.add(listener);
  CHECK(rig.announcer.wants_use(false));
  rig.clock.set(5);
  rig.announcer.note_time();
  rig.announcer.tell_use(inside);
  CHECK(rig.lines == Lines{"policy: use 2", "use 1 #3 at 5"});
  rig.announcer.remove(listener);
  CHECK_FALSE(rig.announcer.wants_use(false));
}

TEST_CASE("a kernel ends with the name that it began with, and only if it has begun") {
  Rig rig{WantedUses::Stamps, true};
  CHECK(rig.announcer.wants_kernels());
  rig.announcer.begin_kernel(7, "conv", 1, {});
  rig.announcer.begin_kernel(8, "pool", 1, {});
  rig.announcer.end_kernel(7, 30);
  rig.announcer.end_kernel(7, 30);
  rig.announcer.end_kernel(9, 30);
  CHECK(rig.lines == Lines{"policy: begin conv", "policy: begin pool", "policy: end conv"});
}

TEST_CASE("a policy that throws is asked no more: first touch answers, and says so once") {
  const auto ended = test::run_in_child("throws", [] {
    Rig rig{WantedUses::EveryUse, true, true};
    const auto where = [&] {
      AllocationEvent event;
      return rig.announcer.ask([&](Policy& p, PolicyContext& context) { return p.place(event, context); })
          .tier;
    };
    rig.failure.tell();  // nothing has failed yet
    if (where() != 0 || where() != 0) std::_Exit(2);
    if (rig.changes != 1 || rig.announcer.wants_use(false) || rig.announcer.wants_kernels()) std::_Exit(3);
    rig.failure.tell();
    rig.failure.tell();
  });
  CHECK(ended.code == 0);
  CHECK(ended.errors == "libtier: policy test threw an exception; going on with first touch\n");
}

}  // namespace tier::announcer_test
