// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A clock that costs less to read than the system's, with times converted to those of the steady clock.
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <chrono>
#include <cstdint>
#include <vector>

namespace tier::trace {

/// Reads the processor's counter if the system itself takes its time from it, because it then runs evenly and is the same
/// for all threads; otherwise the steady clock, in nanoseconds.
/// \threadsafety  `now` on any thread; the rest on one thread at a time.
class Ticks {
 public:
  /// \param began  the time that is 0
  explicit Ticks(std::chrono::steady_clock::time_point began);

  [[nodiscard]] std::uint64_t now() const noexcept { return counter_ ? count() : steady(); }

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
  [[nodiscard]] static std::uint64_t count() noexcept {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t count = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    return steady();
#endif
  }

  bool counter_;
  std::uint64_t began_;          // by the steady clock
  std::vector<Moment> moments_;  // two at least, in order
};

}  // namespace tier::trace
