// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Measures all ways, in turns.
#include <string>
#include <vector>

#include "harness/rows.hpp"
#include "ways.hpp"

namespace migrate {

struct WayResult {
  std::string name{};
  std::string why_not{};  ///< why it was not measured, or not to the end
  tier::bench::Timings there{}, back{};
  std::size_t pages = 0, elsewhere = 0, wrong = 0;  ///< of all counted moves together
  tier::Bytes huge{};                               ///< of the object, after the last move
  tier::Bytes besides{};

  /// Returns the time there and back, by medians, in seconds.
  [[nodiscard]] double both() const { return there.median() + back.median(); }
};

struct ObjectResult {
  Object object;
  std::string why_not;  ///< why it was not measured
  std::vector<WayResult> ways;
};

/// Moves the object there and back in each way, in turns, after one uncounted round.
/// \param free  of the node with the least free memory; the result says if that is too little
[[nodiscard]] ObjectResult measure(const Object& object, Nodes nodes, tier::Bytes free, int repeats);

/// True if all that was moved was in its place and unchanged.
[[nodiscard]] bool is_right(const ObjectResult& result);

}  // namespace migrate
