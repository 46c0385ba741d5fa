// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Which neighbouring blocks of a tier should leave to make room.
#include <tier/manager/demotion.hpp>
#include <tier/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "manager/state/state.hpp"
#include "manager/store/store.hpp"
#include "room.hpp"

namespace tier {

/// Finds runs: neighbouring regions of a tier that make room for a request if they are given up. The policy chooses among
/// proposals, each grown around one of the coldest blocks; where it wants none of them the first leaves, and where there are
/// none, or none has room below, the run is found that moves the fewest bytes. Nothing changes here but ranks, which are refreshed when they are looked at.
/// \threadsafety  Under the manager's lock.
class RunFinder {
 public:
  /// A run, and where its blocks should go.
  struct Choice {
    EvictionRun run;
    std::vector<TierIndex> to{};  ///< one for each block, or empty: the policy has no wish
    bool forced = false;          ///< the policy took none of the proposals
  };

  RunFinder(State& state, Store& store) noexcept : state_{state}, store_{store} {}
  RunFinder(const RunFinder&) = delete;
  RunFinder& operator=(const RunFinder&) = delete;

  /// True if the region could be given up: a secondary, or the primary of a block that may move.
  [[nodiscard]] static bool may_leave(const Region* region) noexcept;
  /// Has the policy choose a run.
  /// \param background  no thread waits for the room   \return  nothing if there is no run to propose
  [[nodiscard]] std::optional<Choice> propose(TierIndex t, const Range& range, BlockId for_block,
                                              bool background);
  /// Finds the run that moves the fewest bytes, by a pass over the whole heap.
  [[nodiscard]] std::optional<EvictionRun> scan(TierIndex t, const Range& range) const;
  /// The same, by a pass over `slots` slots, in the background: considers only regions that may be slid within their tier.
  [[nodiscard]] std::optional<EvictionRun> scan_for_slide(TierIndex t, const Range& range,
                                                          RegionHeap::Slot first, std::size_t slots) const;
  /// True if room should be made in a tier for a block from above: the tier has a copy to drop, or a block that may go on and
  /// is no hotter.
  [[nodiscard]] bool gives_way(TierIndex t, const Block& b) noexcept;
  /// Tiers below the block's, in the order in which it should go there.
  [[nodiscard]] TierOrder order_below(const Block& b) const noexcept;
  /// True while the policy looks at proposals: nothing may change under them.
  [[nodiscard]] bool is_choosing() const noexcept { return is_choosing_; }

 private:
  struct Proposal {
    EvictionRun eviction;
    std::vector<BlockFacts> blocks;
    [[nodiscard]] Run run() const {
      return {blocks, {eviction.write_back}, {eviction.evicted}, eviction.hottest};
    }
  };
  /// The room between two regions that stay.
  struct Stretch {
    std::uint64_t begin, end;
  };

  [[nodiscard]] static bool may_slide(const Region* region) noexcept;
  [[nodiscard]] std::optional<EvictionRun> scan(TierIndex t, const Range& range, RegionHeap::Slot first,
                                                std::size_t slots, bool background) const;
  [[nodiscard]] std::vector<Proposal> proposals(TierIndex t, const Range& range);
  [[nodiscard]] bool grow(EvictionRun& run, TierIndex t, RegionHeap::Slot seed, const Range& range) const;
  void describe(EvictionRun& run, TierIndex t) const;

  State& state_;
  Store& store_;
  bool is_choosing_ = false;
};

}  // namespace tier
