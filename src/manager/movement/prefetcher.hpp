// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Fetches in the background.
#include <tier/policy/policy.hpp>

#include <optional>

#include "compactor.hpp"
#include "evictor.hpp"
#include "manager/state/state.hpp"
#include "manager/store/store.hpp"
#include "room.hpp"
#include "run_finder.hpp"
#include "transfers.hpp"

namespace tier {

/// Fetches blocks in the background: into free room, or into room that is made in the background first. Also decides what
/// happens when the last transfer has ended: the policy may use the time, and otherwise the compactor does.
/// \threadsafety  Under the manager's lock, but for `begin_now`, which takes it.
class Prefetcher final : private TransferListener {
 public:
  Prefetcher(State& state, Store& store, Transfers& transfers, RunFinder& finder, Compactor& compactor,
             Evictor& evictor) noexcept
      : state_{state},
        store_{store},
        transfers_{transfers},
        finder_{finder},
        compactor_{compactor},
        evictor_{evictor} {
    transfers_.connect(*this);
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Starts a fetch, for a policy or, if it costs no other thread, for a prefetch.
  /// \param force  others may leave for it
  Outcome begin(Block& b, TierIndex to, bool force, Cause cause) noexcept;
  /// Begins a prefetch for which other blocks must leave: now if that is quick, otherwise on a mover, because a prefetch
  /// takes no time.
  Outcome begin_later(Block& b) noexcept;
  /// A mover begins such a prefetch.
  void begin_now(BlockId id) noexcept;

 private:
  [[nodiscard]] std::optional<Outcome> why_not(const Block& b, TierIndex to) const noexcept;
  [[nodiscard]] bool begin_into(Region* region, Block& b, Cause cause) noexcept;
  [[nodiscard]] Outcome make_room_and_fetch(Block& b, TierIndex to, Range range) noexcept;
  void room_ended(Room& room) noexcept;
  void transfer_ended(const Transfer& t, TierIndex to, bool became_primary) noexcept override;
  void after_transfer() noexcept override;

  State& state_;
  Store& store_;
  Transfers& transfers_;
  RunFinder& finder_;
  Compactor& compactor_;
  Evictor& evictor_;
};

}  // namespace tier
