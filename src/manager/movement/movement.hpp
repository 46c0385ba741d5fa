// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The third floor of the manager: how bytes move, and how room is made for them.
#include "call_in_progress.hpp"
#include "compactor.hpp"
#include "evictor.hpp"
#include "policy_actions.hpp"
#include "prefetcher.hpp"
#include "run_finder.hpp"
#include "transfers.hpp"

namespace tier {

/// The parts of the third floor, in order.
struct Movement {
  Movement(State& state, Store& store)
      : transfers{state, store},
        finder{state, store},
        compactor{state, store, transfers, finder},
        evictor{state, store, transfers, finder, compactor},
        prefetcher{state, store, transfers, finder, compactor, evictor},
        actions{state, store, transfers, finder, prefetcher} {}

  Transfers transfers;
  RunFinder finder;
  Compactor compactor;
  Evictor evictor;
  Prefetcher prefetcher;
  PolicyActions actions;
};

}  // namespace tier
