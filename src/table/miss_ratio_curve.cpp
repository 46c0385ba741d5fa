// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/miss_ratio_curve.hpp"

#include <tier/core/error.hpp>

#include <algorithm>
#include <string>

namespace tier {
namespace {

void require_sizes(const MissRatioCurve& curve) {
  if (curve.sizes.empty())
    throw ConfigError{"the curve has no sizes; take a curve that RowTable::advise returns"};
}

}  // namespace

const CacheSize& MissRatioCurve::least_for(double hit_share) const {
  if (!(hit_share >= 0 && hit_share <= 1))
    throw ConfigError{"a hit share of " + std::to_string(hit_share) + "; allowed: 0 to 1"};
  require_sizes(*this);
  return *std::partition_point(sizes.begin(), sizes.end() - 1,
                               [&](const CacheSize& size) { return 1 - size.miss_ratio < hit_share; });
}

const CacheSize& MissRatioCurve::largest_in(Bytes budget) const {
  require_sizes(*this);
  return *(std::partition_point(sizes.begin() + 1, sizes.end(),
                                [&](const CacheSize& size) { return size.bytes <= budget; }) -
           1);
}

namespace detail {

// Divides the scaled-up misses of the sample by all rows asked for. If the sample has more or fewer uses than its share,
// the cause is its hottest rows, which hit in any cache: the adjustment of the SHARDS paper.
MissRatioCurve miss_ratio_curve(const ReuseCounts& counts, const CacheSizes& sizes) {
  const auto asked = static_cast<double>(counts.asked);
  const auto share = [&](double uses) { return counts.asked == 0 ? 1.0 : std::min(1.0, uses / asked); };
  MissRatioCurve curve;
  curve.asked = counts.asked;
  curve.first_uses = share(counts.first_uses);
  curve.followed = counts.followed;
  curve.sizes.push_back(sizes.whole());

  // Goes from the largest cache down, since a miss in it is a miss in all smaller ones.
  double misses = counts.first_uses;
  for (auto bucket = ReuseHistogram::buckets; bucket-- > 0;) {
    const auto slots = ReuseHistogram::slots(bucket);
    if (const auto size = sizes.cache(slots, share(misses))) {
      const bool no_worse = curve.sizes.size() > 1 && size->miss_ratio == curve.sizes.back().miss_ratio;
      if (no_worse) curve.sizes.pop_back();
      curve.sizes.push_back(*size);
    }
    misses += counts.reuses.uses(bucket);
  }
  std::reverse(curve.sizes.begin(), curve.sizes.end());
  return curve;
}

}  // namespace detail
}  // namespace tier
