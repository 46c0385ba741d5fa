// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Counts what the manager does.
#include <tier/manager/manager.hpp>
#include <tier/manager/statistics.hpp>

#include <array>
#include <cstdint>

#include "announcer.hpp"

namespace tier {

/// Counts what the manager does, and tells observers of waits.
/// \threadsafety  Under the manager's lock.
class Counters {
 public:
  Counters(Announcer& announcer, const Timeline& timeline) noexcept
      : announcer_{announcer}, timeline_{timeline} {}
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  /// The plain counts, which everybody raises.
  Statistics totals;

  void add_moved(TierIndex from, TierIndex to, Cause cause, std::uint64_t bytes,
                 std::uint64_t transfers) noexcept;
  /// Counts the wait of this thread since `began`: in a scope's entry, or, outside scopes, in an allocation.
  void count_wait(const BatchContext& context, std::uint64_t began, StallCause cause) noexcept;
  /// Counts a stall that a table has met itself.
  void count_stall(std::uint64_t ns) noexcept;
  /// Adds what has moved between the first `tiers` tiers.
  void add_moved_to(Statistics& statistics, std::size_t tiers) const;

 private:
  struct Moved {
    std::uint64_t bytes = 0, transfers = 0;
  };

  Announcer& announcer_;
  const Timeline& timeline_;
  std::array<std::array<std::array<Moved, cause_count>, max_tiers>, max_tiers> moved_{};
};

}  // namespace tier
