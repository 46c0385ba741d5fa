// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A policy that takes any permitted action at any time: results must not depend on it.
#include <tier/policy/policy.hpp>

#include <random>
#include <thread>
#include <vector>

namespace tier::test {

class RandomPolicy final : public Policy {
 public:
  explicit RandomPolicy(std::uint64_t seed) : wanted_{static_cast<WantedUses>(seed % 3)}, random_{seed} {}

  std::string_view name() const noexcept override { return "random"; }
  WantedUses wanted_uses() const noexcept override { return wanted_; }
  bool wants_kernels() const noexcept override { return true; }
  double watermark() const noexcept override { return 0.2; }

  Placement place(const AllocationEvent& event, PolicyContext& context) override {
    known_.push_back(event.block);
    meddle(context);
    return {tier(context), below(2) == 0};
  }
  MissDecision on_miss(const MissEvent&, PolicyContext& context) override {
    return {below(3) == 0 ? no_tier : tier(context), below(2) == 0};
  }
  std::uint64_t rank(const BlockFacts& block) const noexcept override {
    return block.id * 0x9e3779b97f4a7c15;
  }
  RunChoice choose(const RoomRequest&, std::span<const Run> runs, PolicyContext& context) override {
    if (below(4) == 0) return {};
    const auto chosen = below(runs.size());
    to_.resize(runs[chosen].blocks.size());
    for (auto& t : to_) t = tier(context);
    return {chosen, to_};
  }
  /// At times it writes behind, slowly: the copy may end before another thread takes the lock.
  void on_hint(const HintEvent& event, PolicyContext& context) override {
    if (below(2) == 0) return meddle(context);
    const auto slowest = static_cast<TierIndex>(context.tier_count() - 1);
    if (context.copy(event.block, slowest) != Outcome::Done || below(2) == 0) return;
    for (int i = 0; i < 200; ++i) std::this_thread::yield();
  }
  void on_use(const UseEvent&, PolicyContext& context) override {
    if (below(8) == 0) meddle(context);
  }
  void on_retire(const RetireEvent&, PolicyContext& context) override { meddle(context); }
  void on_watermark(const WatermarkEvent&, PolicyContext& context) override { meddle(context); }
  void on_step(const StepEvent&, PolicyContext& context) override { meddle(context); }
  void on_idle(const IdleEvent&, PolicyContext& context) override {
    if (below(4) == 0) meddle(context);
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  TierIndex tier(const PolicyContext& context) { return static_cast<TierIndex>(below(context.tier_count())); }
  void meddle(PolicyContext& context) {
    if (known_.empty()) return;
    const auto at = below(known_.size());
    const BlockId id = known_[at];
    if (!context.block_facts(id)) {
      known_[at] = known_.back();
      known_.pop_back();
      return;
    }
    switch (below(6)) {
      case 0:
        context.copy(id, tier(context));
        break;
      case 1:
        context.fetch(id, tier(context), below(2) == 0);
        break;
      case 2:
        context.make_primary(id, tier(context));
        break;
      case 3:
        context.drop(id, tier(context));
        break;
      case 4:
        context.evict(id, tier(context));
        break;
      default:
        context.rerank(id);
        break;
    }
  }

  WantedUses wanted_;
  std::mt19937_64 random_;
  std::vector<BlockId> known_;
  std::vector<TierIndex> to_;
};

}  // namespace tier::test
