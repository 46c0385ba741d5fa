// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How often the background looks for rows to promote.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

namespace tier::detail {

/// Computes how long the background rests: many times as long as it has computed, and longer the less it finds, because
/// what it gains on later batches it takes from the threads of this one (src/table/README.md has the measurement).
class PromotionPace {
 public:
  /// Rests in multiples of the time computed: the shortest, doubled up to the longest.
  static constexpr unsigned shortest = 31, longest = 8 * shortest;
  /// The shortest rest needs at least one use in this many to be worth promoting.
  static constexpr std::size_t worth_a_look = 32;

  /// Notes that a part of the log was reviewed, and the policy admitted `admitted` of its rows.
  void admit(std::size_t admitted) noexcept { admitted_ += admitted; }
  /// Notes that all of the log was reviewed.   \param uses  of a full log; 0: it was not full, and few uses say little
  void end_log(std::size_t uses) noexcept {
    const auto admitted = std::exchange(admitted_, 0);
    if (uses != 0) times_ = admitted * worth_a_look >= uses ? shortest : std::min(times_ * 2, longest);
  }
  [[nodiscard]] std::chrono::nanoseconds rest_after(std::chrono::nanoseconds computed) const noexcept {
    return computed * times_;
  }

 private:
  std::size_t admitted_ = 0;
  unsigned times_ = shortest;
};

}  // namespace tier::detail
