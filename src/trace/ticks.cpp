// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/ticks.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "core/descriptor.hpp"

namespace tier::trace {
namespace {

/// True if the system has found that the counter can be trusted.
bool system_uses_counter() {
#if defined(__x86_64__) || defined(__aarch64__)
  const auto source =
      tier::detail::whole_file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  return source == "tsc\n" || source == "arch_sys_counter\n";
#else
  return false;
#endif
}

}  // namespace

Ticks::Ticks(std::chrono::steady_clock::time_point began)
    : counter_{system_uses_counter()},
      began_{static_cast<std::uint64_t>(began.time_since_epoch() / std::chrono::nanoseconds{1})} {
  if (!counter_) return;
  compare();
  constexpr std::uint64_t apart = 100'000;  // ns; reading both clocks takes less than a thousandth of it
  while (steady() - began_ < moments_.front().ns + apart) {
  }
  compare();
}

void Ticks::compare() {
  if (!counter_) return;
  Moment now{};
  auto least = std::numeric_limits<std::uint64_t>::max();
  for (int attempt = 0; attempt < 3; ++attempt) {  // a thread may be held up between
    const auto before = tier::detail::count_ticks();
    const auto ns = steady() - began_;
    const auto taken = tier::detail::count_ticks() - before;
    if (taken >= least) continue;
    least = taken;
    now = {before + taken / 2, ns, 0};
  }
  if (!moments_.empty() && now.ticks <= moments_.back().ticks) return;
  moments_.push_back(now);
  if (moments_.size() < 2) return;
  const auto& from = *(moments_.end() - 2);
  moments_.back().speed = static_cast<double>(now.ns - from.ns) / static_cast<double>(now.ticks - from.ticks);
}

std::uint64_t Ticks::to_ns(std::uint64_t ticks) const noexcept {
  if (!counter_) return ticks - std::min(ticks, began_);
  auto next = moments_.end() - 1;
  if (ticks < (next - 1)->ticks) next = std::ranges::upper_bound(moments_, ticks, {}, &Moment::ticks);
  if (next == moments_.begin()) ++next;
  const auto& from = *(next - 1);
  const auto since = static_cast<double>(static_cast<std::int64_t>(ticks - from.ticks)) * next->speed;
  return static_cast<std::uint64_t>(std::max(0.0, static_cast<double>(from.ns) + since));
}

}  // namespace tier::trace
