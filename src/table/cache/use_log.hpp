// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A log of uses that the row policy has not been told of.
#include <tier/policy/row_policy.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>

namespace tier::detail {

/// Keeps rows that were used without the cache's lock, until the policy is told of them. Bounded: what does not fit is
/// dropped. When all that is logged has been told, the log is empty again.
/// \see           Ding, Jiang, Zhang: BP-Wrapper: A System Framework Making Any Replacement Algorithms (Almost) Lock
///                Contention Free. ICDE 2009.
/// \threadsafety  `is_full` and `capacity` need no lock. All else is called under the lock of the cache.
class UseLog {
 public:
  /// \param memory  for `capacity` rows; it outlives the log
  UseLog(RowId* memory, RowId capacity) noexcept : rows_{memory}, capacity_{capacity} {}

  [[nodiscard]] RowId capacity() const noexcept { return capacity_; }
  /// True if the log has no room for further uses.
  [[nodiscard]] bool is_full() const noexcept { return logged_.load(std::memory_order_relaxed) == capacity_; }

  /// Appends the first of these uses, as far as there is room.
  void append(std::span<const RowId> rows) noexcept {
    const auto logged = logged_.load(std::memory_order_relaxed);
    const auto taken = std::min<std::size_t>(rows.size(), capacity_ - logged);
    std::copy_n(rows.begin(), taken, rows_ + logged);
    logged_.store(logged + static_cast<RowId>(taken), std::memory_order_relaxed);
  }
  /// Returns the uses that the policy has not been told of, oldest first.
  [[nodiscard]] std::span<const RowId> untold() const noexcept {
    return {rows_ + told_, logged_.load(std::memory_order_relaxed) - told_};
  }
  /// Notes that the policy has been told of the first `count` of them.
  void note_told(std::size_t count) noexcept {
    told_ += static_cast<RowId>(count);
    if (told_ < logged_.load(std::memory_order_relaxed)) return;
    told_ = 0;
    logged_.store(0, std::memory_order_relaxed);
  }

 private:
  RowId* const rows_;
  const RowId capacity_;
  std::atomic<RowId> logged_{0};
  RowId told_ = 0;
};

}  // namespace tier::detail
