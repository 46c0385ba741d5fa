// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What holds between any two calls of the manager.
#include "movement/movement.hpp"
#include "state/state.hpp"
#include "store/store.hpp"

namespace tier {

/// Checks the invariants that `Manager` lists. Under the manager's lock.
/// \throws  `std::logic_error` naming the broken one
void check_invariants(const State& state, const Store& store, const Movement& movement);

}  // namespace tier
