// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What tables tell of rows that move.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/manager/manager.hpp>
#include <tier/policy/policy.hpp>

#include <cstdint>
#include <string_view>

namespace tier {

/// Rows that a table has moved in one go, between their home in a slower tier and its slots. Times are those of events.
struct RowTraffic {
  std::string_view table;  ///< its name, which its home has, too; tables of one name are not told apart
  TierIndex from = no_tier, to = no_tier;
  Bytes bytes;  ///< above 0
  Cause cause{};
  std::uint64_t start_ns = 0, duration_ns = 0;
};

/// A `ThreadObserver` that is one of these, too, is told of rows by the threads that move them and that wait for them. It may
/// wait as that one may.
/// \threadsafety  Called by many threads at once.
class TIER_EXPORT RowObserver {
 public:
  virtual ~RowObserver() = default;
  virtual void on_rows_moved(const RowTraffic& traffic) noexcept = 0;
  /// The stall of which the manager tells next, by the calling thread, was for rows of this table.
  virtual void on_rows_awaited(std::string_view table) noexcept = 0;
};

/// Null if nobody wants to be told. Lives as long as the manager.
[[nodiscard]] inline RowObserver* row_observer(const Manager& manager) noexcept {
  return dynamic_cast<RowObserver*>(manager.thread_observer());
}

}  // namespace tier
