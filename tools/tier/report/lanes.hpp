// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Lanes for slices of which some overlap: a viewer draws those of one lane in each other or one after the other.
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

/// For each slice the number of a lane in which no two overlap, but one within the other where that may be; few lanes.
/// \complexity  O(n log n) without nesting, and with it O(n) for each lane
[[nodiscard]] std::vector<std::size_t> lanes_of(std::span<const Slice> slices, Nesting nesting);

}  // namespace tier::tool::report
