// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Calls that may release the lock halfway.
#include "compactor.hpp"
#include "manager/state/state.hpp"
#include "manager/store/store.hpp"

namespace tier {

/// A call that may release the lock halfway, while it holds regions and perhaps a block without a place. Compaction in the
/// background waits for its end.
class CallInProgress {
 public:
  CallInProgress(State& state, Store& store, Compactor& compactor) noexcept
      : state_{state}, compactor_{compactor} {
    state_.monitor.call_begins();
    store.tiers.forget_refusals();
  }
  ~CallInProgress() {
    state_.monitor.call_ends();
    compactor_.compact_in_background();
  }
  CallInProgress(const CallInProgress&) = delete;
  CallInProgress& operator=(const CallInProgress&) = delete;

 private:
  State& state_;
  Compactor& compactor_;
};

}  // namespace tier
