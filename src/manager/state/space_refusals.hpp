// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Counts how often the system has refused space to a tier.
#include <atomic>
#include <system_error>

namespace tier {

/// Counts the refusals of one tier during one call, so that a call asks a full disk a few times and not for each block
/// that could leave.
/// \threadsafety  Internally synchronised. A call of another thread also resets the count: it may have found space, and
///                asks anew.
class SpaceRefusals {
 public:
  static constexpr unsigned most = 2;  ///< one more than one, because another thread may be asking already

  void note(std::error_code error) noexcept {
    error_.store(error.value(), std::memory_order_relaxed);
    count_.fetch_add(1, std::memory_order_release);  // (1) -> (2)
  }
  /// Counts as many refusals as there may be.
  void note_all(std::error_code error) noexcept {
    error_.store(error.value(), std::memory_order_relaxed);
    count_.store(most, std::memory_order_release);  // (1) -> (2)
  }
  void forget() noexcept { count_.store(0, std::memory_order_relaxed); }
  /// Returns the system's last refusal, if it must not be asked any more.
  [[nodiscard]] std::error_code last() const noexcept {
    if (count_.load(std::memory_order_acquire) < most) return {};  // (2) <- (1)
    return {error_.load(std::memory_order_relaxed), std::generic_category()};
  }

 private:
  std::atomic<unsigned> count_{0};
  std::atomic<int> error_{0};
};

}  // namespace tier
