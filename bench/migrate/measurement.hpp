// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  All ways, in turns.
#include <string>
#include <vector>

#include "harness/rows.hpp"
#include "ways.hpp"

namespace migrate {

struct WayResult {
  std::string name{};
  std::string why_not{};  ///< it has not been measured, or not to the end
  tier::bench::Timings there{}, back{};
  std::size_t pages = 0, elsewhere = 0, wrong = 0;  ///< of all moves that count, together
  tier::Bytes huge{};                               ///< of the object, after the last move
  tier::Bytes besides{};

  /// Of there and back, by their medians, in seconds.
  [[nodiscard]] double both() const { return there.median() + back.median(); }
};

struct ObjectResult {
  Object object;
  std::string why_not;  ///< it has not been measured
  std::vector<WayResult> ways;
};

/// Moves the object there and back in each way, in turns, once beforehand without counting.
/// \param free  of the node that has least: where that is too little, the result says so
[[nodiscard]] ObjectResult measure(const Object& object, Nodes nodes, tier::Bytes free, int repeats);

/// Whether all that was moved was where it should be, as it should be.
[[nodiscard]] bool is_right(const ObjectResult& result);

}  // namespace migrate
