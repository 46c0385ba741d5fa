// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Collects the statistics of a manager from its floors.
#include <tier/manager/statistics.hpp>

#include <vector>

#include "movement/movement.hpp"
#include "state/state.hpp"
#include "store/store.hpp"

namespace tier {

/// Under the manager's lock. Without tables, and without what belongs to notes.
[[nodiscard]] Statistics collect_statistics(const State& state, const Store& store, const Movement& movement);
[[nodiscard]] std::vector<ObjectStatistics> collect_object_statistics(const Catalog& catalog);

}  // namespace tier
