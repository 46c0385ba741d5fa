// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Records which blocks are archived, as a policy sees it.
#include "support/test_manager.hpp"

#include <set>

namespace tier::test {

/// A manager whose policy fetches everything, evicts archived blocks first, and can say which those are.
class ArchivingRig {
 public:
  ArchivingRig(const std::vector<TierSpec>& specs, WindowMode windows, Bytes window_blocks = {}) {
    auto made = std::make_unique<Archiving>();
    policy_ = made.get();
    manager = make_manager(specs, windows, window_blocks, std::move(made));
  }

  /// Returns the archived blocks, among those that were ever hinted.
  [[nodiscard]] std::set<BlockId> archived() const {
    manager->end_of_step();  // delivers pending hints, so that the policy may ask
    return policy_->archived;
  }

  std::shared_ptr<Manager> manager;

 private:
  class Archiving final : public Policy {
   public:
    [[nodiscard]] std::string_view name() const noexcept override { return "archiving"; }
    [[nodiscard]] Placement place(const AllocationEvent&, PolicyContext&) override { return {0, true}; }
    [[nodiscard]] MissDecision on_miss(const MissEvent&, PolicyContext&) override { return {0, false}; }
    [[nodiscard]] std::uint64_t rank(const BlockFacts& block) const noexcept override {
      return block.archived ? 0 : block.last_use;
    }
    void on_hint(const HintEvent& event, PolicyContext&) override { hinted_.insert(event.block); }
    void on_step(const StepEvent&, PolicyContext& context) override {
      archived.clear();
      for (const auto id : hinted_)
        if (const auto facts = context.block_facts(id); facts && facts->archived) archived.insert(id);
    }

    std::set<BlockId> archived;

   private:
    std::set<BlockId> hinted_;
  };

  Archiving* policy_ = nullptr;
};

}  // namespace tier::test
