// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How large a table's cache should be, and how tables share a budget.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace tier {

/// A size that a table's cache may have.
struct CacheSize {
  std::uint64_t slots = 0;  ///< rows that it holds
  Bytes bytes;              ///< of the fastest tier, with all that goes with them: as `TableOptions::budget`
  double miss_ratio = 0;    ///< share of the rows asked for that are not there
};

/// What caches of each size would have missed of the rows that a table was asked for, row by row, the least recently
/// used one leaving: a policy that knows more misses less.
struct TIER_EXPORT MissRatioCurve {
  /// Ascending, the miss ratio never rising: from the least cache to the whole table, which misses nothing.
  std::vector<CacheSize> sizes;
  std::uint64_t asked = 0;  ///< rows, each as often as it was asked for
  double first_uses = 0;    ///< share of these that were asked for the first time: every cache misses those
  std::uint64_t followed = 0;  ///< rows that this was learnt from, or blocks where these move

  /// The least size that has this share of the rows there.
  /// \throws  `ConfigError` if it is not from 0 to 1, or there are no sizes
  [[nodiscard]] const CacheSize& least_for(double hit_share) const;
  /// The largest size that `budget` covers; the least of all if it covers none.
  /// \throws  `ConfigError` if there are no sizes
  [[nodiscard]] const CacheSize& largest_in(Bytes budget) const;
};

/// Shares a budget between tables so that they miss few rows together: step by step it goes where a byte saves most
/// misses, a step being to whichever larger size that fits is steepest, which is along the convex hull of a curve.
/// \param lookup  what it costs to have a row in a cache, to find, announce and update it there, in misses: a table that is
///              whole saves it. Near 0 where a miss is I/O; where it is a copy between memories it may be 1. Not negative
/// \return      the budget of each table, one of its sizes; together at most `budget`, and less if more saves nothing.
///              Misses, with what lookups cost, are above the least possible by less than one step saves, the first that was
///              too large to take.
/// \throws      `ConfigError` if `budget` does not cover the least size of each, for a curve without sizes, and for a
///              `lookup` that is negative or no number
/// \complexity  steps x (tables + sizes of one)
/// \see         Fox: Discrete Optimization via Marginal Analysis. Management Science 1966; Qureshi, Patt: Utility-Based
///              Cache Partitioning. MICRO 2006 (the look-ahead over steps).
[[nodiscard]] TIER_EXPORT std::vector<Bytes> share_by_need(std::span<const MissRatioCurve> tables,
                                                           Bytes budget, double lookup = 0);

}  // namespace tier
