// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How large a table's cache should be, and how tables share a budget.
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

/// The miss ratios of caches of each size, for the rows that a table was asked for. Assumes that rows come one by one and
/// that the least recently used one is evicted; a policy that knows more misses less.
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

/// Shares a budget between tables so that together they miss few rows. Each step enlarges the table where a byte saves
/// most misses, to the size that fits with the steepest gain, which lies on the convex hull of the table's curve.
/// \param lookup  the cost of a row in a cache (to find, announce and update it there), in misses: a whole table saves it.
///              Near 0 if a miss is I/O; maybe 1 if it is a copy between memories. Not negative
/// \return      the budget of each table, one of its sizes; together at most `budget`, and less if more saves nothing.
///              Misses, with the cost of lookups, exceed the least possible by less than the saving of one step, the first
///              that did not fit.
/// \throws      `ConfigError` if `budget` does not cover the least size of each, for a curve without sizes, and for a
///              `lookup` that is negative or no number
/// \complexity  steps x (tables + sizes of one)
/// \see         Fox: Discrete Optimization via Marginal Analysis. Management Science 1966; Qureshi, Patt: Utility-Based
///              Cache Partitioning. MICRO 2006 (the look-ahead over steps).
[[nodiscard]] TIER_EXPORT std::vector<Bytes> share_by_need(std::span<const MissRatioCurve> tables,
                                                           Bytes budget, double lookup = 0);

}  // namespace tier
