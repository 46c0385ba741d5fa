// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A simple least recently used cache, and logs of ids to run it on.
#include <tier/policy/row_policy.hpp>

#include <cmath>
#include <cstdint>
#include <list>
#include <random>
#include <span>
#include <unordered_map>
#include <vector>

namespace tier::test {

/// Returns how many of the ids miss a cache of `slots` slots that is cold at first.
inline std::uint64_t lru_misses(std::span<const RowId> ids, std::uint64_t slots) {
  std::list<RowId> newest_first;
  std::unordered_map<RowId, std::list<RowId>::iterator> cached;
  std::uint64_t misses = 0;
  for (const auto id : ids) {
    if (const auto found = cached.find(id); found != cached.end()) {
      newest_first.splice(newest_first.begin(), newest_first, found->second);
      continue;
    }
    ++misses;
    if (cached.size() == slots) {
      cached.erase(newest_first.back());
      newest_first.pop_back();
    }
    newest_first.push_front(id);
    cached.emplace(id, newest_first.begin());
  }
  return misses;
}

/// Returns ids by Zipf's law with this exponent, over all rows; frequent rows are scattered.
inline std::vector<RowId> zipf_log(RowId rows, std::size_t count, double exponent, std::uint64_t seed) {
  std::vector<double> weights(rows);
  for (RowId rank = 0; rank < rows; ++rank) weights[rank] = std::pow(rank + 1.0, -exponent);
  std::discrete_distribution<RowId> rank{weights.begin(), weights.end()};
  std::mt19937_64 random{seed};
  std::vector<RowId> ids(count);
  for (auto& id : ids) id = static_cast<RowId>(std::uint64_t{rank(random)} * 2654435761U % rows);
  return ids;
}

}  // namespace tier::test
