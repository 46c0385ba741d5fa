// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A manager over tiers in memory, with a policy that the test scripts; a test can hold up any transfer or make it
///        fail.
#include "copy/fake_tiers.hpp"
#include "support/eventually.hpp"
#include "support/memory_tier.hpp"

#include <tier/core/error.hpp>
#include <tier/manager/manager.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tier::test {

/// Decides as the test says; by default it is a cache that brings everything to the fastest tier.
class ScriptedPolicy final : public Policy {
 public:
  std::string_view name() const noexcept override { return "scripted"; }
  bool frees_early() const noexcept override { return early; }
  double watermark() const noexcept override { return low; }
  Placement place(const AllocationEvent& event, PolicyContext& context) override {
    if (on_place) on_place(context, event.block);
    return placement;
  }
  MissDecision on_miss(const MissEvent&, PolicyContext&) override { return miss; }
  RunChoice choose(const RoomRequest& request, std::span<const Run> runs, PolicyContext& context) override {
    return on_choose ? on_choose(request, runs, context) : Policy::choose(request, runs, context);
  }
  bool prefers(const Run& run, std::uint64_t rank) const noexcept override {
    return takes_coldest && run.hottest < rank;
  }
  void on_hint(const HintEvent& event, PolicyContext& context) override {
    if (const auto now = std::exchange(action, {})) now(context, event.block);
  }

  Placement placement{0, true};
  MissDecision miss{0, false};
  bool early = true;
  bool takes_coldest = false;
  double low = 0;
  std::function<void(PolicyContext&, BlockId)> action;  // at the next hint
  std::function<void(PolicyContext&, BlockId)> on_place;
  std::function<RunChoice(const RoomRequest&, std::span<const Run>, PolicyContext&)> on_choose;
};

struct RigOptions {
  std::vector<MemoryTierOptions> tiers;
  ManagerOptions manager{
      .threads = 1, .movers = 1, .yields = false, .report_waits_after = std::chrono::milliseconds{10'000}};
};

inline MemoryTierOptions fast_tier(Bytes capacity) {
  return {"fast", capacity, std::chrono::nanoseconds{100}, true};
}
inline MemoryTierOptions slow_tier(Bytes capacity, bool addressable) {
  return {"slow", capacity, std::chrono::nanoseconds{300}, addressable};
}
inline MemoryTierOptions slowest_tier(Bytes capacity, bool addressable) {
  return {"slowest", capacity, std::chrono::nanoseconds{9000}, addressable};
}

/// \threadsafety  Change `policy` and the tiers' hooks only while nothing moves.
class Rig {
 public:
  explicit Rig(const RigOptions& options) {
    std::vector<std::unique_ptr<Tier>> owned;
    for (const auto& t : options.tiers) {
      auto made = std::make_unique<MemoryTier>(t);
      tiers.push_back(made.get());
      owned.push_back(std::move(made));
    }
    auto scripted = std::make_unique<ScriptedPolicy>();
    policy = scripted.get();
    manager = Manager::make(std::move(owned), std::move(scripted), options.manager);
  }
  Rig(Bytes fast, Bytes slow, bool addressable, std::optional<WindowMode> windows = {})
      : Rig{RigOptions{.tiers = {fast_tier(fast), slow_tier(slow, addressable)},
                       .manager = {.threads = 1,
                                   .movers = 1,
                                   .yields = false,
                                   .windows = windows,
                                   .window_blocks = Bytes{2 << 20},
                                   .cached_windows = Bytes{}}}} {}

  MemoryTier& fast() { return *tiers[0]; }
  MemoryTier& slow() { return *tiers[1]; }

  /// Makes an object in the fastest tier that holds `value` in every byte.
  ObjectHandle make(Bytes size, char value, std::string_view name = "object") {
    auto handle = manager->create(size, 64, name);
    write(handle, value);
    return handle;
  }
  void write(const ObjectHandle& object, char value, Use use = Use::Overwrite) {
    Operand op = Operand::of(object.ref(), use);
    manager->enter({&op, 1}, {1, true, {}});
    std::memset(op.address, value, op.size);
    Manager::leave({&op, 1});
  }
  /// True if a scope reads `value` in every byte of the object.
  bool holds(const ObjectHandle& object, char value) {
    Operand op = Operand::of(object.ref(), Use::Read);
    manager->enter({&op, 1}, {1, true, {}});
    const bool all = all_are(op, value);
    Manager::leave({&op, 1});
    return all;
  }
  static bool all_are(const Operand& op, char value) {
    return std::all_of(op.address, op.address + op.size, [&](std::byte b) { return b == std::byte(value); });
  }
  /// Returns the outcome of a policy's action on the object.
  Outcome act(const ObjectHandle& object, const std::function<Outcome(PolicyContext&, BlockId)>& action) {
    Outcome outcome{};
    policy->action = [&](PolicyContext& context, BlockId id) { outcome = action(context, id); };
    manager->hint(Hint::WillUse, object.ref(), 0);
    return outcome;
  }
  BlockFacts facts(const ObjectHandle& object) {
    BlockFacts facts;
    act(object, [&](PolicyContext& context, BlockId id) {
      facts = *context.block_facts(id);
      return Outcome::Done;
    });
    return facts;
  }
  TierIndex where(const ObjectHandle& object) { return facts(object).tier; }
  Outcome evict(const ObjectHandle& object, TierIndex to = 1) {
    return act(object, [&](PolicyContext& context, BlockId id) { return context.evict(id, to); });
  }
  Outcome clean(const ObjectHandle& object, TierIndex to = 1) {
    return act(object, [&](PolicyContext& context, BlockId id) { return context.copy(id, to); });
  }
  Bytes used(std::size_t tier) { return manager->statistics().tiers[tier].used; }
  /// Waits until nothing moves any more, and checks the invariants.
  void settle() {
    manager->quiesce();
    manager->check_invariants();
  }

  std::vector<MemoryTier*> tiers;
  ScriptedPolicy* policy = nullptr;
  std::shared_ptr<Manager> manager;
};

/// An open scope on one object.
class Entered {
 public:
  Entered(Rig& rig, const ObjectHandle& object, Use use, bool root = true)
      : operand_{Operand::of(object.ref(), use)} {
    rig.manager->enter({&operand_, 1}, {1, root, {}});
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  ~Entered() { leave(); }
  void leave() { Manager::leave({&operand_, 1}); }
  void fill(char value) const { std::memset(operand_.address, value, operand_.size); }
  bool all_are(char value) const { return Rig::all_are(operand_, value); }
  std::byte* address() const { return operand_.address; }

 private:
  Operand operand_;
};

/// Holds up accesses in one direction through a tier until it is opened, at the latest by its destructor.
class Hold {
 public:
  Hold(MemoryTier& tier, Direction direction) : tier_{tier} {
    tier_.fails = [gate = gate_, direction](Direction d, std::uint64_t, std::uint64_t) {
      if (d == direction) gate->pass();
      return std::error_code{};
    };
  }
  /// The same, and then makes them fail.
  Hold(MemoryTier& tier, Direction direction, std::errc error) : tier_{tier} {
    tier_.fails = [gate = gate_, direction, error](Direction d, std::uint64_t, std::uint64_t) {
      if (d != direction) return std::error_code{};
      gate->pass();
      return std::make_error_code(error);
    };
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() { open(); }

  void wait_for_arrival() { gate_->wait_for_arrival(); }
  void open() { gate_->open(); }
  bool is_open() { return gate_->is_open(); }

 private:
  MemoryTier& tier_;
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};

/// Holds up the first access in one direction through a tier, which then succeeds or fails; later ones pass.
class HoldFirst {
 public:
  HoldFirst(MemoryTier& tier, Direction direction, std::error_code error = {}) {
    tier.fails = [gate = gate_, first = std::make_shared<std::atomic<bool>>(true), direction, error](
                     Direction d, std::uint64_t, std::uint64_t) {
      if (d != direction || !first->exchange(false)) return std::error_code{};
      gate->pass();
      return error;
    };
  }
  HoldFirst(const HoldFirst&) = delete;
  HoldFirst& operator=(const HoldFirst&) = delete;
  ~HoldFirst() { open(); }

  void wait_for_arrival() { gate_->wait_for_arrival(); }
  void open() { gate_->open(); }
  bool is_open() { return gate_->is_open(); }

 private:
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};

/// Makes accesses in one direction through a tier fail while it lives. Make and destroy it only while nothing moves.
class Failing {
 public:
  Failing(MemoryTier& tier, Direction direction, std::errc error = std::errc::io_error) : tier_{tier} {
    tier_.fails = [direction, error](Direction d, std::uint64_t, std::uint64_t) {
      return d == direction ? std::make_error_code(error) : std::error_code{};
    };
  }
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;
  ~Failing() { tier_.fails = nullptr; }

 private:
  MemoryTier& tier_;
};

/// Spins until a condition holds that another thread brings about; no test depends on how long that takes.
template <class Condition>
void until(const Condition& holds) {
  while (!holds()) std::this_thread::yield();
}

/// True if a thread ends although something is held up. After the time limit it counts as hanging.
template <class T>
bool ends(const std::future<T>& thread) {
  return thread.wait_for(std::chrono::seconds{20}) == std::future_status::ready;
}

template <class F>
auto in_thread(F&& f) {
  return std::async(std::launch::async, std::forward<F>(f));
}

}  // namespace tier::test
