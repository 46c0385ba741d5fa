// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hold_times.hpp"

#include <tier/core/detail/hold_timer.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

#include "core/tick_counter.hpp"

namespace tier::detail {
namespace {

double measure_ns_per_tick() noexcept {
  const auto began = std::chrono::steady_clock::now();
  const auto ticks = count_ticks();
  std::chrono::nanoseconds taken{};
  while ((taken = std::chrono::steady_clock::now() - began) < std::chrono::milliseconds{20}) {
  }
  return static_cast<double>(taken.count()) / static_cast<double>(count_ticks() - ticks);
}

double to_ns(std::uint64_t ticks) noexcept {
  static const double ns_per_tick = measure_ns_per_tick();
  return static_cast<double>(ticks) * ns_per_tick;
}

}  // namespace

void HoldTimes::add(std::uint64_t ticks, bool with_policy) noexcept {
  ++holds_;
  ticks_ += ticks;
  if (with_policy) return;
  ++without_policy_;
  longest_ = std::max(longest_, ticks);
  ++counts_[bucket_of(ticks)];
}

double HoldTimes::total_ns() const noexcept { return to_ns(ticks_); }
double HoldTimes::longest_ns() const noexcept { return to_ns(longest_); }

double HoldTimes::quantile_ns(double share) const noexcept {
  auto left = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(without_policy_)));
  for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
    if (left <= counts_[bucket]) return std::min(to_ns(end_of(bucket)), longest_ns());
    left -= counts_[bucket];
  }
  return longest_ns();
}

/// The first buckets have one length each; then each power of two has `parts`.
std::size_t HoldTimes::bucket_of(std::uint64_t ticks) noexcept {
  const auto value = std::max<std::uint64_t>(ticks, parts);
  const auto power =
      static_cast<unsigned>(std::bit_width(value)) - static_cast<unsigned>(std::bit_width(parts));
  return ticks < parts ? ticks : power * parts + (value >> power);
}

std::uint64_t HoldTimes::end_of(std::size_t bucket) noexcept {
  if (bucket < 2 * parts) return bucket;
  const auto power = bucket / parts - 1;
  return ((bucket % parts + parts + 1) << power) - 1;
}

#if defined(TIER_LOCK_TIMES)
namespace {
constinit thread_local bool ran_policy = false;
}

void HoldTimer::policy_runs() noexcept { ran_policy = true; }
void HoldTimer::begin_hold() noexcept {
  ran_policy = false;
  began_ = count_ticks();
}
void HoldTimer::end_hold() noexcept { times_->add(count_ticks() - began_, ran_policy); }
#endif

}  // namespace tier::detail
