// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Questions and actions of a policy, which calls them under the lock.
#include <tier/policy/policy.hpp>

#include <optional>

#include "manager/state/state.hpp"
#include "manager/store/store.hpp"
#include "prefetcher.hpp"
#include "run_finder.hpp"
#include "transfers.hpp"

namespace tier {

/// Carries out what a policy asks for. While the policy chooses among proposals its actions are refused.
/// \threadsafety  Under the manager's lock.
class PolicyActions final : public PolicyContext {
 public:
  PolicyActions(State& state, Store& store, Transfers& transfers, RunFinder& finder,
                Prefetcher& prefetcher) noexcept
      : state_{state}, store_{store}, transfers_{transfers}, finder_{finder}, prefetcher_{prefetcher} {
    state_.announcer.connect(*this);
  }

  [[nodiscard]] std::size_t tier_count() const noexcept override { return store_.tiers.count(); }
  [[nodiscard]] TierFacts tier_facts(TierIndex tier) const noexcept override;
  [[nodiscard]] std::optional<BlockFacts> block_facts(BlockId id) const noexcept override;
  [[nodiscard]] TierIndex slower(TierIndex tier) const noexcept override;
  [[nodiscard]] bool in_background(TierIndex from, TierIndex to) const noexcept override {
    return transfers_.in_background(from, to);
  }
  Outcome copy(BlockId id, TierIndex tier, When when) noexcept override;
  Outcome fetch(BlockId id, TierIndex tier, bool force) noexcept override;
  Outcome make_primary(BlockId id, TierIndex tier) noexcept override;
  Outcome drop(BlockId id, TierIndex tier) noexcept override;
  Outcome evict(BlockId id, TierIndex to) noexcept override;
  void rerank(BlockId id) noexcept override;

  /// Watches what the policy does with a block while it is told a hint on it.
  void watch(BlockId id) noexcept { watched_ = {id, std::nullopt}; }
  /// \return  the result if the policy wanted the block elsewhere
  std::optional<Outcome> end_watch() noexcept { return std::exchange(watched_, {}).brought; }

 private:
  struct Watched {
    BlockId block = 0;
    std::optional<Outcome> brought;
  };

  Outcome note_brought(BlockId id, Outcome outcome) noexcept;
  /// Starts to copy the block to a slower tier in the background.
  Outcome send(Block& b, TierIndex to, TransferKind kind, Cause cause, Priority priority) noexcept;

  State& state_;
  Store& store_;
  Transfers& transfers_;
  RunFinder& finder_;
  Prefetcher& prefetcher_;
  Watched watched_;
};

}  // namespace tier
