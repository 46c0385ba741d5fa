// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How large a table's cache should be.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace tier {

/// A possible size of a table's cache.
struct CacheSize {
  std::uint64_t slots = 0;  ///< rows that it holds
  Bytes bytes;              ///< of the fastest tier, metadata included: a value for `TableOptions::budget`
  double miss_ratio = 0;    ///< share of the rows asked for that are not there
};

/// Tells how often a table's cache would miss, for each size that it could have: by the rows that a table was asked for.
/// `RowTable::advise` and `CacheAdvisor::advise` return it.
/// \code{.cpp}
/// const tier::MissRatioCurve curve{.sizes = {{100, 8_KiB, 0.5}, {500, 40_KiB, 0.1}, {1000, 80_KiB, 0.0}}};
/// assert(curve.least_for(0.8).slots == 500);
/// assert(curve.largest_in(64_KiB).bytes == 40_KiB);
/// \endcode
///
/// Assumes that rows come one by one and that the least recently used one is evicted; a policy that knows more misses
/// less.
struct TIER_EXPORT MissRatioCurve {
  /// Ascending sizes, from the least cache to the whole table, which misses nothing. The miss ratio never rises.
  std::vector<CacheSize> sizes;
  std::uint64_t asked = 0;  ///< rows asked for, repeats included
  double first_uses = 0;    ///< share of these that were asked for the first time, which every cache misses
  std::uint64_t followed = 0;  ///< rows in the sample

  /// Returns the least size with at least this hit ratio.
  /// \throws  `ConfigError` if `hit_share` is not from 0 to 1, or there are no sizes
  [[nodiscard]] const CacheSize& least_for(double hit_share) const;
  /// Returns the largest size that `budget` covers; the least of all if it covers none.
  /// \throws  `ConfigError` if there are no sizes
  [[nodiscard]] const CacheSize& largest_in(Bytes budget) const;
};

}  // namespace tier
