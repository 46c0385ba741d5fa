// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What is said of CachedArrays, checked against replays.
#include <tier/replay/replay.hpp>

#include "cachedarrays_runs.hpp"
#include "report.hpp"

namespace tier::tool::paper {

struct CacheShares {
  double hits = 0, clean_misses = 0, dirty_misses = 0;
};
[[nodiscard]] CacheShares cache_shares(const replay::CacheCounts& counts);

/// Those about the networks that were replayed.   \pre  the report has its cells and footprints
void add_statements(const CachedArraysRuns& runs, Report& report);

}  // namespace tier::tool::paper
