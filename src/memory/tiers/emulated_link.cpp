// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/tiers/emulated_link.hpp"

#include <tier/core/relax.hpp>

#include <algorithm>
#include <cmath>
#include <thread>

namespace tier {
namespace {

using Clock = EmulatedLink::Clock;
using std::chrono::nanoseconds;

}  // namespace

EmulatedLink::EmulatedLink(double bytes_per_second, nanoseconds latency, unsigned parallelism,
                           nanoseconds blur) noexcept
    : nanoseconds_per_byte_{1e9 / bytes_per_second},
      latency_{static_cast<double>(latency.count())},
      parallelism_{parallelism},
      blur_{blur.count()} {}

Clock::time_point EmulatedLink::book(unsigned requests, std::uint64_t bytes,
                                     Clock::time_point since) noexcept {
  const auto abreast = std::min(std::max(in_flight_.load(std::memory_order_relaxed), 1U), parallelism_);
  const auto duration =
      std::llround(latency_ * requests / abreast + nanoseconds_per_byte_ * static_cast<double>(bytes));
  const auto arrival = nanoseconds{since.time_since_epoch()}.count();
  auto busy = busy_until_.load(std::memory_order_relaxed);
  std::int64_t end = 0;
  do {
    end = (arrival - busy < blur_ ? busy : arrival) + duration;
  } while (!busy_until_.compare_exchange_weak(busy, end, std::memory_order_relaxed));
  return Clock::time_point{nanoseconds{end}};
}

nanoseconds clock_cost() noexcept {
  constexpr int readings = 64;
  auto least = nanoseconds::max();
  for (int round = 0; round < 8; ++round) {
    const auto begin = Clock::now();
    auto end = begin;
    for (int i = 0; i < readings; ++i) end = Clock::now();
    least = std::min(least, nanoseconds{end - begin} / readings);
  }
  return least;
}

void wait_until(Clock::time_point when) noexcept {
  constexpr std::chrono::microseconds late{
      100};  // a sleep may overshoot by it: 50 us of timer slack and a wake-up
  constexpr std::chrono::microseconds brief{1};  // at the end of a wait a pause instruction is too long
  if (when - Clock::now() > late + late / 2) std::this_thread::sleep_until(when - late);
  while (when - Clock::now() > brief) detail::relax();
  while (Clock::now() < when) {
  }
}

}  // namespace tier
