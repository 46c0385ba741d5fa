// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Checks the published statements on CachedArrays against replays.
#include <tier/replay/replay.hpp>

#include "cachedarrays_runs.hpp"
#include "results.hpp"

namespace tier::tool::paper {

struct CacheShares {
  double hits = 0, clean_misses = 0, dirty_misses = 0;
};
[[nodiscard]] CacheShares cache_shares(const replay::CacheCounts& counts);

/// Adds the statements about the replayed networks.   \pre  the report has its cells and footprints
void add_statements(const CachedArraysRuns& runs, Report& report);

}  // namespace tier::tool::paper
