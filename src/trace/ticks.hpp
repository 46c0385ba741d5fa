// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A clock that costs less to read than the system's, with times converted to those of the steady clock.
#include <chrono>
#include <cstdint>
#include <vector>

#include "core/tick_counter.hpp"

namespace tier::trace {

/// Reads the processor's counter if the system itself takes its time from it, because it then runs evenly and is the same
/// for all threads; otherwise the steady clock, in nanoseconds.
/// \threadsafety  `now` on any thread; the rest on one thread at a time.
class Ticks {
 public:
  /// \param began  the time that is 0
  explicit Ticks(std::chrono::steady_clock::time_point began);

  [[nodiscard]] std::uint64_t now() const noexcept {
    return counter_ ? tier::detail::count_ticks() : steady();
  }

  /// Compares the two clocks, so that times up to now are exact.
  void compare();
  /// Returns nanoseconds since `began`; 0 before it. Never less for a later tick, up to the last comparison.
  [[nodiscard]] std::uint64_t to_ns(std::uint64_t ticks) const noexcept;

 private:
  struct Moment {
    std::uint64_t ticks, ns;
    double speed;  ///< ns a tick since the one before
  };
  [[nodiscard]] static std::uint64_t steady() noexcept {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds{1});
  }

  bool counter_;
  std::uint64_t began_;          // by the steady clock
  std::vector<Moment> moments_;  // two at least, in order
};

}  // namespace tier::trace
