// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replays.hpp"

#include <tier/policy/policy.hpp>
#include <tier/runtime/policies.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

namespace tier::tool::paper {
namespace {

/// Keeps everything in the slowest tier and uses it there.
class AllSlow final : public Policy {
 public:
  std::string_view name() const noexcept override { return "all_slow"; }
  Placement place(const AllocationEvent&, PolicyContext& context) override {
    return {static_cast<TierIndex>(context.tier_count() - 1), false};
  }
  MissDecision on_miss(const MissEvent&, PolicyContext&) override { return {no_tier, true}; }
};

/// CachedArrays' LM with other victims.
class OtherVictims final : public Policy {
 public:
  explicit OtherVictims(Victims victims)
      : victims_{victims}, policy_{make_policy("hint_aware:free=0,mode=LM")} {}

  std::string_view name() const noexcept override { return "other_victims"; }
  bool frees_early() const noexcept override { return policy_->frees_early(); }
  Placement place(const AllocationEvent& event, PolicyContext& context) override {
    return policy_->place(event, context);
  }
  MissDecision on_miss(const MissEvent& event, PolicyContext& context) override {
    return policy_->on_miss(event, context);
  }
  std::uint64_t rank(const BlockFacts& block) const noexcept override {
    if (victims_ == Victims::MostRecent) return ~block.last_use;
    return (block.id + 1) * 0x9E37'79B9'7F4A'7C15;  // scattered by id
  }
  void on_hint(const HintEvent& event, PolicyContext& context) override { policy_->on_hint(event, context); }
  void on_retire(const RetireEvent& event, PolicyContext& context) override {
    policy_->on_retire(event, context);
  }

 private:
  Victims victims_;
  std::unique_ptr<Policy> policy_;
};

/// Returns options for replays as CachedArrays ran: synchronous, with a compaction after each step.
replay::Options cachedarrays_options() { return {.asynchronous = false, .compacts_after_steps = true}; }

}  // namespace

replay::Result run_policy(const trace::Trace& trace, const Setting& setting, const std::string& policy,
                          bool asynchronous) {
  const auto make = [&](const FutureUses& future) -> std::unique_ptr<Policy> {
    if (policy == "all_slow") return std::make_unique<AllSlow>();
    return policy == "belady" ? make_belady(future) : make_policy(policy);
  };
  return replay::run(trace, setting.machine, setting.tiers(), make, {.asynchronous = asynchronous});
}

replay::Result run_mode(const trace::Trace& trace, const Setting& setting, const std::string& mode) {
  if (mode.starts_with("2LM"))
    return replay::run_two_level(trace, setting.machine, setting.tiers(), {.frees_early = mode == "2LM_M"});
  const auto letters = mode.substr(mode.find('_') + 1);
  auto options = cachedarrays_options();
  options.copies_new_objects = letters == "0";
  return replay::run(
      trace, setting.machine, setting.tiers(),
      [&](const FutureUses&) { return make_policy("hint_aware:free=0,mode=" + letters); }, options);
}

replay::Result run_with_victims(const trace::Trace& trace, const Setting& setting, Victims victims) {
  return replay::run(
      trace, setting.machine, setting.tiers(),
      [&](const FutureUses&) { return std::make_unique<OtherVictims>(victims); }, cachedarrays_options());
}

replay::Result run_all_fast(const trace::Trace& trace, const Setting& setting) {
  constexpr std::size_t plenty = std::size_t{1} << 42;  // only addresses, no memory
  return run_policy(trace, setting.with_fast({plenty}), "first_touch", false);
}

void Tasks::run() {
  std::mutex mutex;
  std::condition_variable one_is_done;
  std::size_t next = 0, done = 0;
  std::exception_ptr failure;
  const auto tasks = std::exchange(tasks_, {});
  const auto work = [&] {
    for (std::unique_lock lock{mutex}; next < tasks.size() && !failure;) {
      const auto& task = tasks[next++];
      lock.unlock();
      std::exception_ptr error;
      try {
        task();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (!failure) failure = error;
      ++done;
      one_is_done.notify_one();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = std::max(1U, std::thread::hardware_concurrency()); i > 0; --i)
      threads.emplace_back(work);
    std::unique_lock lock{mutex};
    while (done < tasks.size() && !failure) {
      one_is_done.wait(lock);
      const auto share = static_cast<double>(done) / static_cast<double>(tasks.size());
      lock.unlock();
      progress_(share);
      lock.lock();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tier::tool::paper
