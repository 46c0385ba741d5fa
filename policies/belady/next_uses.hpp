// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tells from a recording when rows will be used next.
#include <tier/policy/row_policy.hpp>

#include <cstdint>
#include <limits>
#include <vector>

namespace tier {

/// A position in a recording.
using UseTime = std::uint32_t;
inline constexpr UseTime never = std::numeric_limits<UseTime>::max();

/// Follows a run along its recording, each row on its own, so that an unrecorded or missing use misleads about that row
/// alone.
/// \threadsafety  Externally synchronised.
class NextUses {
 public:
  NextUses() = default;
  /// \param recorded  rows below `rows`, fewer than `never`
  NextUses(const std::vector<RowId>& recorded, RowId rows) : next_(rows, never), after_(recorded.size()) {
    for (auto time = static_cast<UseTime>(recorded.size()); time-- > 0;) {
      after_[time] = next_[recorded[time]];
      next_[recorded[time]] = time;
    }
  }

  [[nodiscard]] UseTime of(RowId row) const noexcept { return next_[row]; }
  /// Notes that the row is used now.
  void pass(RowId row) noexcept {
    if (next_[row] != never) next_[row] = after_[next_[row]];
  }

 private:
  std::vector<UseTime> next_;   // next use of each row
  std::vector<UseTime> after_;  // of each recorded use: the next one of the same row
};

}  // namespace tier
