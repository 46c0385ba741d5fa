// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/two_level_cache.hpp"

#include <tier/core/assert.hpp>

#include <algorithm>
#include <limits>

namespace tier::replay {

TwoLevelCache::TwoLevelCache(Bytes capacity, Bytes sector)
    : sector_{sector}, places_(std::max<std::size_t>(1, capacity.count / sector.count)) {
  TIER_ASSERT(sector.count > 0, "a sector must have at least 1 byte");
}

Bytes TwoLevelCache::most_behind(Bytes capacity, Bytes sector) noexcept {
  constexpr std::size_t tags = (std::size_t{1} << 31) - 1;
  constexpr auto most = std::numeric_limits<std::size_t>::max();
  const auto places = std::max<std::size_t>(1, capacity.count / sector.count);
  const auto cached = places * sector.count;
  return {cached > most / tags ? most : cached * tags};
}

/// Neighbours in memory are neighbours in the cache, so the cache is walked in order.
template <bool writes>
TwoLevelCache::Outcome TwoLevelCache::access(std::uint64_t offset, Bytes size) noexcept {
  Outcome outcome;
  if (size.count == 0) return outcome;
  const auto first = offset / sector_.count, last = (offset + size.count - 1) / sector_.count;
  auto place = first % places_.size();
  auto tag = static_cast<std::uint32_t>(first / places_.size() + 1) << 1;
  for (auto sector = first; sector <= last; ++sector) {
    auto& here = places_[place];
    if ((here & ~1U) == tag) {
      ++outcome.hits;
      if (writes) here |= 1U;
    } else {
      ++((here & 1U) != 0 ? outcome.dirty_misses : outcome.clean_misses);
      here = tag | (writes ? 1U : 0U);
    }
    if (++place == places_.size()) {
      place = 0;
      tag += 2;
    }
  }
  return outcome;
}

template TwoLevelCache::Outcome TwoLevelCache::access<false>(std::uint64_t, Bytes) noexcept;
template TwoLevelCache::Outcome TwoLevelCache::access<true>(std::uint64_t, Bytes) noexcept;

}  // namespace tier::replay
