// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Assigns overlapping slices to lanes: a viewer draws those of one lane nested or one after the other.
#include <cstddef>
#include <span>
#include <vector>

#include "axis.hpp"

namespace tier::tool::report {

struct Slice {
  Time start = 0, end = 0;
};

enum class Nesting : bool {
  No,
  Yes  ///< a slice may lie within another of its lane
};

/// Returns for each slice the number of a lane, of few. Slices of one lane do not overlap, except that with nesting one may
/// lie within another.
/// \complexity  O(n log n) without nesting; with it O(n) per lane
[[nodiscard]] std::vector<std::size_t> lanes_of(std::span<const Slice> slices, Nesting nesting);

}  // namespace tier::tool::report
