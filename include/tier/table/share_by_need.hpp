// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How much of a budget each table gets, by the curves of their misses.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/table/miss_ratio_curve.hpp>

#include <span>
#include <vector>

namespace tier {

/// Shares a budget between tables so that together they miss few rows. Each step enlarges the table where a byte saves
/// most misses, to the size that fits with the steepest gain, which lies on the convex hull of the table's curve.
/// \code{.cpp}
/// // Two tables as advise() describes them; the first is asked for a thousand times as many rows.
/// const std::vector<tier::MissRatioCurve> curves{
///     {.sizes = {{100, 8_KiB, 0.5}, {1000, 64_KiB, 0.1}}, .asked = 1'000'000},
///     {.sizes = {{100, 8_KiB, 0.5}, {1000, 64_KiB, 0.1}}, .asked = 1000}};
/// const std::vector<tier::Bytes> budgets = tier::share_by_need(curves, 72_KiB);
/// assert(budgets[0] == 64_KiB && budgets[1] == 8_KiB);
/// \endcode
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
