// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Measures for how long mutexes are held, in builds with TIER_BUILD_LOCK_TIMES; does nothing in others.
#include <tier/core/config.hpp>

#include <cstdint>

namespace tier::detail {

#if defined(TIER_LOCK_TIMES)
class HoldTimes;

/// Belongs to a mutex, whose holder calls it.
class HoldTimer {
 public:
  /// Notes all further holds there.   \param times  outlives the mutex
  void keep(HoldTimes& times) noexcept { times_ = &times; }
  void begin() noexcept {
    if (times_ != nullptr) begin_hold();
  }
  void end() noexcept {
    if (times_ != nullptr) end_hold();
  }
  /// The calling thread runs a policy in its present hold: that time is not ours.
  static void policy_runs() noexcept;

 private:
  void begin_hold() noexcept;
  void end_hold() noexcept;

  HoldTimes* times_ = nullptr;
  std::uint64_t began_ = 0;  // ticks
};
#else
class HoldTimer {
 public:
  void begin() noexcept {}
  void end() noexcept {}
  static void policy_runs() noexcept {}
};
#endif

}  // namespace tier::detail
