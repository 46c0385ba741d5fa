// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The timetable of an emulated device, in one direction.
#include <atomic>
#include <chrono>
#include <cstdint>

namespace tier {

/// Models a link that all threads share. Each request takes latency / min(requests in flight, parallelism) + bytes /
/// bandwidth of its time, after the requests booked before.
/// \threadsafety  Internally synchronised.
class EmulatedLink {
 public:
  using Clock = std::chrono::steady_clock;

  /// Counts requests as in flight during its lifetime.
  class Flight {
   public:
    Flight(EmulatedLink& link, unsigned requests) noexcept : link_{link}, requests_{requests} {
      link_.in_flight_.fetch_add(requests, std::memory_order_relaxed);
    }
    ~Flight() { link_.in_flight_.fetch_sub(requests_, std::memory_order_relaxed); }
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;

    /// Books the requests.   \return  when the device ends them, if they began at `since`
    Clock::time_point book(std::uint64_t bytes, Clock::time_point since) noexcept {
      return link_.book(requests_, bytes, since);
    }

   private:
    EmulatedLink& link_;
    unsigned requests_;
  };

  /// \param blur  a shorter gap between two requests counts as none, because reading the clock takes time
  EmulatedLink(double bytes_per_second, std::chrono::nanoseconds latency, unsigned parallelism,
               std::chrono::nanoseconds blur) noexcept;

 private:
  Clock::time_point book(unsigned requests, std::uint64_t bytes, Clock::time_point since) noexcept;

  double nanoseconds_per_byte_;
  double latency_;
  unsigned parallelism_;
  std::int64_t blur_;
  std::atomic<unsigned> in_flight_{0};
  std::atomic<std::int64_t> busy_until_{0};  // nanoseconds of Clock
};

/// Measures how long reading the clock takes.
[[nodiscard]] std::chrono::nanoseconds clock_cost() noexcept;
/// Waits until `when`: sleeps, and spins at the end.
void wait_until(EmulatedLink::Clock::time_point when) noexcept;

}  // namespace tier
